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

// Nothing, with violations below "groups[i]" and "expert_routing", when the
// pass breaks a rule. `max_context` and `experts`: of the graph; empty: not
// known, the routing is then not checked against it.
std::optional<model::ForwardPass> FromProto(const v1::ForwardPass& proto,
                                            int64_t max_context,
                                            std::optional<int> experts,
                                            model::Violations& violations);

}  // namespace mansard::server
