#include "model/kernels/expert_exchange.h"

#include <algorithm>
#include <cmath>

#include "model/base/distinct_places.h"
#include "model/base/p_norm.h"

namespace mansard::model {
namespace {

// Copies of tokens that the busiest rank moves, and what of their bytes goes
// which way.
struct Copies {
  double all = 0;
  double inner = 0;
  double outer = 0;
};

bool OnePerRank(const ExpertExchangeFamily& family) {
  return family.per_rank >= 0.5;
}

Copies CopiesOf(const ExpertExchangeFamily& family,
                const ExchangeProblem& problem) {
  const double ranks = problem.ranks;
  const double nodes = problem.nodes;
  const double node_ranks = ranks / nodes;
  const double tokens = problem.tokens;
  if (!OnePerRank(family)) {
    const double all = problem.imbalance * tokens * problem.experts_per_token;
    return {all, all * (node_ranks - 1) / ranks,
            all * (ranks - node_ranks) / ranks};
  }
  const double all = problem.imbalance * tokens *
                     DistinctPlaces(ranks, problem.experts_per_token);
  return {all, all * (node_ranks - 1) / node_ranks,
          tokens * DistinctPlaces(nodes, problem.experts_per_token) *
              (nodes - 1) / nodes};
}

double MultiprocessorsOf(const ExpertExchangeFamily& family,
                         const ExchangeProblem& problem) {
  const double device = problem.device_multiprocessors;
  if (problem.multiprocessors > 0) {
    return std::min(problem.multiprocessors, device);
  }
  const double wanted =
      family.multiprocessors > 0 ? family.multiprocessors : problem.experts;
  return wanted > 0 ? std::min(wanted, device) : device;
}

}  // namespace

ExchangeTimes TimeExchange(const ExpertExchangeFamily& family,
                           const ExchangeProblem& problem) {
  const Copies copies = CopiesOf(family, problem);
  ExchangeTimes times;
  times.bus_bytes = copies.inner * problem.token;
  times.network_bytes = copies.outer * problem.token;
  times.feed = (problem.tokens * family.token + copies.all * family.row +
                copies.all * problem.token / family.sm_feed) /
               MultiprocessorsOf(family, problem);
  times.bus = times.bus_bytes / family.bus;
  times.fixed = family.alpha + problem.token / family.token_feed;
  if (problem.nodes > 1) {
    times.network =
        times.network_bytes /
        (family.network * std::pow(problem.nodes - 1.0, -family.crowding));
    times.fixed +=
        family.network_alpha +
        std::log2(static_cast<double>(problem.nodes)) * family.network_step;
  }
  const Seconds largest = Max(times.feed, Max(times.bus, times.network));
  times.time = times.fixed;
  if (largest > Seconds::Zero()) {
    const double powers = FourthPower(times.feed / largest) +
                          FourthPower(times.bus / largest) +
                          FourthPower(times.network / largest);
    times.time += largest * FourthRoot(powers);
  }
  return times;
}

}  // namespace mansard::model
