// Layer kinds between their proto and the domain.
#pragma once

#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/io/attention_io.h"

namespace mansard::model {

// Violations for what only the proto can get wrong: parts that are missing or
// do not go together. Where one is, values that pass every other check stand
// in, so that it is reported once.
LayerKind LayerKindFromProto(const v1::LayerKind& proto,
                             Violations& violations);
v1::LayerKind LayerKindToProto(const LayerKind& kind);

// The parts alone, as kernels are asked for.
RecurrentMixer RecurrentFromProto(const v1::RecurrentMixer& proto,
                                  Violations& violations);
MixtureOfExperts ExpertsFromProto(const v1::MixtureOfExperts& proto);

}  // namespace mansard::model
