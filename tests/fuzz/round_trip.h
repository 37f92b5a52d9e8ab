// A graph or profile that was accepted says the same after it went out and came
// back in.
#pragma once

#include "absl/strings/string_view.h"
#include "model/graph/model_graph.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/profile_io.h"

namespace mansard::fuzz {

// Each Requires that the proto of the value is read without a violation, and
// gives the same proto again.
void RequireRoundTrip(const model::ModelGraph& graph, absl::string_view id);
// `fabrics`: those that the profile's fabric_ids were resolved with.
void RequireRoundTrip(const model::HardwareProfile& profile,
                      absl::string_view id, const model::FabricMap& fabrics);
void RequireRoundTrip(const model::Fabric& fabric);

}  // namespace mansard::fuzz
