// Which experts the tokens of a pass touch, one token after the other.
#pragma once

#include <cstdint>

#include "model/workload/forward_pass.h"

namespace mansard::testing {

// Distinct experts that see a row. Independent routing: the mean over every
// assignment of `per_token` of `experts` experts to each token; assignments
// that have touched the same experts so far are walked together. Spread: rows
// in turn. Histogram: the experts with a share in turn. At most 16 experts.
double DistinctExperts(const model::ExpertRouting& routing, int64_t tokens,
                       int per_token, int experts);

}  // namespace mansard::testing
