// How many of a pass's token-expert pairs fall to the ranks that share the
// experts of a layer.
#pragma once

#include <cstdint>

#include "model/workload/forward_pass.h"

namespace mansard::model {

struct ExpertLoad {
  double rows = 0;      // Token-expert pairs.
  double distinct = 0;  // Experts that see one at least.
  double copies = 0;    // Tokens that have one at least.
  // `rows` over the mean of all ranks.
  double imbalance = 1;
};

// Of the busiest of `ranks` ranks, each with as many of the `experts`, in their
// order. Where tokens choose independently its rows are the expected maximum
// over the ranks (the ranks' sums taken as normal, independent ones); spread
// tokens are so, whole rows; with a histogram it is the rank with the largest
// share. Precondition: `ranks` divides `experts`.
ExpertLoad BusiestRank(const ExpertRouting& routing, int64_t tokens,
                       int per_token, int experts, int ranks);

}  // namespace mansard::model
