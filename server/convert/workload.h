// Request pieces from the wire. Values are taken over as they are; the domain
// types check them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mansard/v1/workload.pb.h"
#include "model/base/violations.h"
#include "model/workload/forward_pass.h"
#include "model/workload/layout.h"

namespace mansard::server {

model::Parallelism FromProto(const v1::Parallelism& proto);

// Nothing, with violations at "kind" and "expert_shares", where a rule is
// broken.
std::optional<model::ExpertRouting> RoutingFromProto(
    const v1::ExpertRouting& proto, model::Violations& violations);

// What a pass is checked against, of the graph. Empty: not known, the pass is
// then not checked against it.
struct GraphFacts {
  int64_t max_context = 0;
  std::optional<int> experts;
  std::optional<int> draft_modules;
  std::optional<bool> cross_attention;  // Some layer has it.
};

// Nothing, with violations below "groups[i]", "expert_routing" and "drafting",
// when the pass breaks a rule.
std::optional<model::ForwardPass> FromProto(const v1::ForwardPass& proto,
                                            const GraphFacts& graph,
                                            model::Violations& violations);

}  // namespace mansard::server
