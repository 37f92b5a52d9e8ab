// ModelGraph between its proto and the domain. The only door for graphs.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/io/format_io.h"

namespace mansard::model {

// `id` is the catalog id, or empty for an inline graph. Violations name the
// proto's fields.
std::optional<ModelGraph> GraphFromProto(const v1::ModelGraph& proto,
                                         absl::string_view id,
                                         Violations& violations);
// Complete, with size and revision; `name` only when the graph has an id.
v1::ModelGraph GraphToProto(const ModelGraph& graph);

}  // namespace mansard::model
