#include "model/workload/expert_load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mansard::model {
namespace {

// Where the upper tail of the normal distribution is `tail`; within 5e-4.
// Source: Abramowitz and Stegun, 26.2.23.
double NormalQuantile(double tail) {
  const double t = std::sqrt(-2 * std::log(tail));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

// Of `count` normal variables, in standard deviations. Source: Blom 1958.
double ExpectedMaximum(int count) {
  return NormalQuantile(0.625 / (count + 0.25));
}

struct Share {
  double rows = 0;  // Of all.
  int touched = 0;  // Experts with a share.
};

Share LargestShare(const ExpertRouting& routing, int per_rank, int ranks) {
  double sum = 0;
  Share largest;
  for (int rank = 0; rank < ranks; ++rank) {
    Share mine;
    for (int i = 0; i < per_rank; ++i) {
      const double share =
          routing.shares[static_cast<size_t>(rank * per_rank + i)];
      mine.rows += share;
      mine.touched += share > 0 ? 1 : 0;
    }
    sum += mine.rows;
    if (mine.rows > largest.rows) largest = mine;
  }
  largest.rows /= sum;
  return largest;
}

}  // namespace

ExpertLoad BusiestRank(const ExpertRouting& routing, int64_t tokens,
                       int per_token, int experts, int ranks) {
  const double all = static_cast<double>(tokens) * per_token;
  ExpertLoad load{
      .rows = all,
      .distinct = routing.DistinctExperts(tokens, per_token, experts),
      .copies = static_cast<double>(tokens)};
  if (ranks == 1) return load;
  const int per_rank = experts / ranks;
  const double mean = all / ranks;
  // No rank sees an expert of a token twice.
  const double most =
      static_cast<double>(tokens) * std::min(per_token, per_rank);
  switch (routing.kind) {
    case ExpertRouting::Kind::kIndependent: {
      // Of one token: draws without replacement.
      const double share = 1.0 / ranks;
      const double variance = experts == 1
                                  ? 0
                                  : per_token * share * (1 - share) *
                                        (experts - per_token) / (experts - 1.0);
      load.rows = std::min(
          most, mean + ExpectedMaximum(ranks) *
                           std::sqrt(static_cast<double>(tokens) * variance));
      // As many tokens as would bring these rows to an average rank.
      load.distinct =
          per_rank *
          (1 - std::pow(1 - per_token / static_cast<double>(experts),
                        static_cast<double>(tokens) * load.rows / mean));
      break;
    }
    case ExpertRouting::Kind::kSpread:
      load.rows = std::ceil(mean);
      load.distinct = std::min<double>(per_rank, load.rows);
      break;
    case ExpertRouting::Kind::kHistogram: {
      const Share share = LargestShare(routing, per_rank, ranks);
      load.rows = std::min(most, share.rows * all);
      load.distinct = std::min<double>(share.touched, load.rows);
      break;
    }
  }
  load.imbalance = load.rows / mean;
  // A token's experts lie on any ranks.
  load.copies = std::min({static_cast<double>(tokens), load.rows,
                          load.imbalance * static_cast<double>(tokens) *
                              (1 - std::pow(1 - 1.0 / ranks, per_token))});
  return load;
}

}  // namespace mansard::model
