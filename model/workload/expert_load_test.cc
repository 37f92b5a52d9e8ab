#include "model/workload/expert_load.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using Kind = ExpertRouting::Kind;

TEST(ExpertLoad, OneRankHasAllRows) {
  const ExpertLoad load = BusiestRank({}, 5, 2, 8, 1);
  EXPECT_EQ(load.rows, 10);
  EXPECT_EQ(load.copies, 5);
  EXPECT_EQ(load.imbalance, 1);
  EXPECT_EQ(load.distinct, ExpertRouting{}.DistinctExperts(5, 2, 8));
}

TEST(ExpertLoad, SpreadTokensAreWholeRows) {
  const ExpertRouting spread{Kind::kSpread, {}};
  EXPECT_EQ(BusiestRank(spread, 8, 2, 8, 4).rows, 4);
  EXPECT_EQ(BusiestRank(spread, 8, 2, 8, 4).distinct, 2);
  EXPECT_EQ(BusiestRank(spread, 9, 2, 8, 4).rows, 5);
  EXPECT_EQ(BusiestRank(spread, 1, 2, 8, 8).rows, 1);
  EXPECT_EQ(BusiestRank(spread, 1, 2, 8, 8).distinct, 1);
}

TEST(ExpertLoad, AHistogramsLargestShare) {
  // Ranks of two experts: 1, 5, 2 of 8.
  const ExpertRouting given{Kind::kHistogram, {0.5, 0.5, 5, 0, 1, 1}};
  const ExpertLoad load = BusiestRank(given, 800, 1, 6, 3);
  EXPECT_DOUBLE_EQ(load.rows, 500);
  EXPECT_EQ(load.distinct, 1);
  EXPECT_DOUBLE_EQ(load.imbalance, 500 / (800 / 3.0));
  // A token has at most one row for each of the rank's experts.
  const ExpertRouting all{Kind::kHistogram, {1, 1, 0, 0, 0, 0}};
  EXPECT_EQ(BusiestRank(all, 10, 4, 6, 3).rows, 20);
}

// Against draws.
TEST(ExpertLoad, IndependentTokensExpectedMaximum) {
  std::mt19937 random(7);
  const struct {
    int64_t tokens;
    int per_token, experts, ranks;
    double tolerance;
  } kCases[] = {{64, 8, 256, 8, 0.02},   {64, 8, 256, 32, 0.04},
                {512, 8, 256, 64, 0.02}, {256, 2, 8, 2, 0.02},
                {16, 4, 64, 8, 0.06},    {4096, 1, 16, 16, 0.02}};
  for (const auto& c : kCases) {
    const int per_rank = c.experts / c.ranks;
    double sum = 0, distinct = 0;
    constexpr int kDraws = 400;
    std::vector<int> order(static_cast<size_t>(c.experts));
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<int> rows(static_cast<size_t>(c.experts));
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
      for (int64_t t = 0; t < c.tokens; ++t) {
        for (int k = 0; k < c.per_token; ++k) {
          std::uniform_int_distribution<int> next(k, c.experts - 1);
          std::swap(order[static_cast<size_t>(k)],
                    order[static_cast<size_t>(next(random))]);
          ++rows[static_cast<size_t>(order[static_cast<size_t>(k)])];
        }
      }
      int most = -1, touched = 0;
      for (int rank = 0; rank < c.ranks; ++rank) {
        int mine = 0, seen = 0;
        for (int e = rank * per_rank; e < (rank + 1) * per_rank; ++e) {
          mine += rows[static_cast<size_t>(e)];
          seen += rows[static_cast<size_t>(e)] > 0 ? 1 : 0;
        }
        if (mine > most) {
          most = mine;
          touched = seen;
        }
      }
      sum += most;
      distinct += touched;
    }
    const ExpertLoad load =
        BusiestRank({}, c.tokens, c.per_token, c.experts, c.ranks);
    EXPECT_NEAR(load.rows, sum / kDraws, c.tolerance * sum / kDraws)
        << c.experts << " on " << c.ranks;
    EXPECT_NEAR(load.distinct, distinct / kDraws, 0.08 * distinct / kDraws)
        << c.experts << " on " << c.ranks;
  }
}

TEST(ExpertLoad, StaysWithinWhatTokensCanDo) {
  for (const Kind kind : {Kind::kIndependent, Kind::kSpread}) {
    for (int ranks : {1, 2, 4, 16}) {
      double last = 0;
      for (int64_t tokens = 1; tokens < 3000; tokens += 1 + tokens / 3) {
        const ExpertLoad load = BusiestRank({kind, {}}, tokens, 6, 32, ranks);
        EXPECT_GE(load.rows, last);
        EXPECT_GE(load.rows * ranks, 6.0 * static_cast<double>(tokens) - 1e-9);
        EXPECT_LE(load.distinct, load.rows * (1 + 1e-12));
        EXPECT_LE(load.distinct, 32.0 / ranks);
        EXPECT_LE(load.copies, load.rows);
        EXPECT_LE(load.copies, static_cast<double>(tokens));
        EXPECT_GE(load.imbalance, 1 - 1e-12);
        last = load.rows;
      }
    }
  }
}

}  // namespace
}  // namespace mansard::model
