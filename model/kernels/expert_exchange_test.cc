#include "model/kernels/expert_exchange.h"

#include <cmath>
#include <random>
#include <set>

#include "gtest/gtest.h"
#include "model/base/distinct_places.h"

namespace mansard::model {
namespace {

ExpertExchangeFamily Family(bool per_rank) {
  ExpertExchangeFamily family;
  family.alpha = Microseconds(10);
  family.network_alpha = Microseconds(5);
  family.network_step = Microseconds(3);
  family.token = Microseconds(0.4);
  family.row = Microseconds(0.1);
  family.sm_feed = GigabytesPerSecond(20);
  family.token_feed = GigabytesPerSecond(1);
  family.bus = GigabytesPerSecond(300);
  family.network = GigabytesPerSecond(50);
  family.crowding = 0.5;
  family.per_rank = per_rank ? 1 : 0;
  family.multiprocessors = per_rank ? 20 : 0;
  return family;
}

ExchangeProblem Problem(int ranks, int nodes) {
  return {.ranks = ranks,
          .nodes = nodes,
          .tokens = 128,
          .experts_per_token = 8,
          .token = Bytes::Of(7000),
          .experts = 256,
          .device_multiprocessors = 132};
}

TEST(ExpertExchange, DistinctPlacesAreTheMeanOfDraws) {
  std::mt19937 random(7);
  for (const int places : {2, 8, 16}) {
    for (const int experts : {1, 2, 8}) {
      double sum = 0;
      constexpr int kDraws = 20000;
      for (int i = 0; i < kDraws; ++i) {
        std::set<unsigned> seen;
        for (int k = 0; k < experts; ++k) {
          seen.insert(static_cast<unsigned>(random()) %
                      static_cast<unsigned>(places));
        }
        sum += static_cast<double>(seen.size());
      }
      EXPECT_NEAR(DistinctPlaces(places, experts), sum / kDraws, 0.05);
    }
  }
}

TEST(ExpertExchange, LowLatencyWritesEveryCopyWhereItBelongs) {
  const ExpertExchangeFamily family = Family(false);
  // 1024 copies, of which one in two stays in the node, one in 16 on the rank.
  const ExchangeTimes times = TimeExchange(family, Problem(16, 2));
  EXPECT_NEAR(times.bus_bytes.value(), 1024 * 7.0 / 16 * 7000, 1e-6);
  EXPECT_NEAR(times.network_bytes.value(), 1024 * 0.5 * 7000, 1e-6);
  EXPECT_NEAR(ToMicroseconds(times.fixed), 10 + 7 + 5 + 3, 1e-9);
  // 132 multiprocessors: there are more experts.
  EXPECT_NEAR(ToMicroseconds(times.feed),
              (128 * 0.4 + 1024 * 0.1 + 1024 * 7000 / 20e9 * 1e6) / 132, 1e-9);
  EXPECT_NEAR(ToMicroseconds(times.network), 1024 * 0.5 * 7000 / 50e9 * 1e6,
              1e-9);
}

TEST(ExpertExchange, ThroughputSendsOneCopyToANodeAndPassesItOn) {
  const ExpertExchangeFamily family = Family(true);
  const ExchangeTimes times = TimeExchange(family, Problem(64, 8));
  const double ranks = 64 * (1 - std::pow(63.0 / 64, 8));
  const double nodes = 8 * (1 - std::pow(7.0 / 8, 8));
  EXPECT_NEAR(times.bus_bytes.value() / (128 * ranks * 7 / 8 * 7000), 1, 1e-12);
  EXPECT_NEAR(times.network_bytes.value() / (128 * nodes * 7 / 8 * 7000), 1,
              1e-12);
  EXPECT_NEAR(ToMicroseconds(times.fixed), 10 + 7 + 5 + 9, 1e-9);
  EXPECT_NEAR(times.network / (times.network_bytes /
                               GigabytesPerSecond(50 / std::sqrt(7.0))),
              1, 1e-12);
  EXPECT_NEAR(ToMicroseconds(times.feed),
              128 * (0.4 + ranks * 0.1 + ranks * 7000 / 20e9 * 1e6) / 20, 1e-9);
}

TEST(ExpertExchange, MultiprocessorsAreTheShapesThenTheFamilysThenExperts) {
  ExchangeProblem problem = Problem(8, 1);
  const ExpertExchangeFamily low = Family(false);
  const Seconds all = TimeExchange(low, problem).feed;
  problem.experts = 16;
  EXPECT_NEAR(TimeExchange(low, problem).feed / all, 132.0 / 16, 1e-12);
  problem.experts = 0;
  EXPECT_EQ(TimeExchange(low, problem).feed, all);
  problem.multiprocessors = 4;
  EXPECT_NEAR(TimeExchange(low, problem).feed / all, 132.0 / 4, 1e-12);
  problem.multiprocessors = 0;
  const ExpertExchangeFamily high = Family(true);
  const Seconds twenty = TimeExchange(high, problem).feed;
  problem.multiprocessors = 10;
  EXPECT_NEAR(TimeExchange(high, problem).feed / twenty, 2, 1e-12);
}

TEST(ExpertExchange, GrowsWithTokensExpertsImbalanceAndNodes) {
  for (const bool per_rank : {false, true}) {
    const ExpertExchangeFamily family = Family(per_rank);
    const Seconds base = TimeExchange(family, Problem(16, 2)).time;
    ExchangeProblem more = Problem(16, 2);
    more.tokens *= 2;
    EXPECT_GT(TimeExchange(family, more).time, base);
    more = Problem(16, 2);
    more.experts_per_token = 9;
    EXPECT_GT(TimeExchange(family, more).time, base);
    more = Problem(16, 2);
    more.imbalance = 1.5;
    EXPECT_GT(TimeExchange(family, more).time, base);
    EXPECT_GT(TimeExchange(family, Problem(32, 4)).time, base);
    EXPECT_GT(base, TimeExchange(family, Problem(8, 1)).time);
  }
}

TEST(ExpertExchange, NoTokensAreWhatIsFixed) {
  ExchangeProblem none = Problem(8, 1);
  none.tokens = 0;
  const ExchangeTimes times = TimeExchange(Family(true), none);
  EXPECT_EQ(times.time, times.fixed);
}

}  // namespace
}  // namespace mansard::model
