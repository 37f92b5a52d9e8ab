// Attention kinds, and the norms that recurrent mixers share with them, between
// their proto and the domain.
#pragma once

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// Violations for what only the proto can get wrong: parts that are missing or
// do not go together. Where one is, values that pass every other check stand
// in, so that it is reported once.
Attention AttentionFromProto(const v1::Attention& proto,
                             Violations& violations);
v1::Attention AttentionToProto(const Attention& attention);

// A number that no name stands for is a violation of `field`.
QkNorm HeadNormFromProto(v1::HeadNorm proto, absl::string_view field,
                         Violations& violations);
// Unspecified where there is no norm.
v1::HeadNorm HeadNormToProto(QkNorm norm);

// An enum's number that this version does not know.
void AddUnknownEnum(absl::string_view field, int value, Violations& violations);

}  // namespace mansard::model
