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

// Nothing, with violations below "groups[i]", when the pass breaks a rule.
// `max_context`: of the graph.
std::optional<model::ForwardPass> FromProto(const v1::ForwardPass& proto,
                                            int64_t max_context,
                                            model::Violations& violations);

}  // namespace mansard::server
