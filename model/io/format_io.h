// Names of formats and of classes of linear layers between proto and domain.
#pragma once

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "mansard/v1/workload.pb.h"
#include "model/base/violations.h"
#include "model/graph/graph_spec.h"

namespace mansard::model {

// A format field: empty stays empty, an unknown name is a violation that lists
// the known ones.
std::optional<Format> FormatFromProto(absl::string_view name,
                                      absl::string_view field,
                                      Violations& violations);

// Empty, with a violation to "linear_class", where it is missing or unknown.
std::optional<LinearClass> LinearClassFromProto(
    const v1::LinearPrecision& proto, Violations& violations);

using LinearPrecisions =
    google::protobuf::RepeatedPtrField<v1::LinearPrecision>;

// A graph's own, below "formats": everything is required. Those that break a
// rule are left out.
std::vector<LinearFormats> LinearFormatsFromProto(const LinearPrecisions& proto,
                                                  Violations& violations);
void LinearFormatsToProto(const std::vector<LinearFormats>& formats,
                          LinearPrecisions& proto);

}  // namespace mansard::model
