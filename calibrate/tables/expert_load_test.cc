// Loads counted by hand, and what must hold for any draw.

#include "calibrate/tables/expert_load.h"

#include <cmath>

#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

struct EvenCase {
  ExpertLayer layer;
  double rows;
  double experts;
  double tokens;
};

TEST(EvenLoad, CountsTheFirstRank) {
  const EvenCase cases[] = {
      // Token t picks t and t + 4: every expert once.
      {{4, 8, 2, 1}, 8, 8, 4},
      {{4, 8, 2, 2}, 4, 4, 4},
      // Expert 0 alone: token 0.
      {{4, 8, 2, 8}, 1, 1, 1},
      // Two tokens spread over the stride of 4: {0, 4} and {2, 6}.
      {{2, 8, 2, 1}, 4, 4, 2},
      {{2, 8, 2, 4}, 1, 1, 1},
      // Tokens 0 to 3 come again: each expert has 3 rows.
      {{12, 8, 2, 2}, 12, 4, 12},
      {{12, 8, 2, 8}, 3, 1, 3},
      // One of 3 experts is beyond the last stride: {0, 2} and {1, 0}.
      {{2, 3, 2, 1}, 4, 3, 2},
  };
  for (const EvenCase& one : cases) {
    const ExpertLoad load = EvenLoad(one.layer);
    EXPECT_EQ(load.rows, one.rows) << one.layer.tokens << " tokens";
    EXPECT_EQ(load.experts, one.experts) << one.layer.tokens << " tokens";
    EXPECT_EQ(load.tokens, one.tokens) << one.layer.tokens << " tokens";
  }
}

TEST(RandomLoad, IsTheMeanOfDrawsWithoutReplacement) {
  // 3 tokens pick 2 of 8; a rank holds 4. An expert is missed with (3/4)^3.
  const ExpertLoad load = RandomLoad({3, 8, 2, 2});
  EXPECT_NEAR(load.rows, 3, 1e-12);
  EXPECT_NEAR(load.experts, 4 * (1 - 27.0 / 64), 1e-12);
  EXPECT_NEAR(load.tokens, 3 * .75, 1e-12);
}

TEST(PowerLawLoad, AllRowsAreSomewhere) {
  for (const int64_t tokens : {1, 5, 40, 700, 20000}) {
    const ExpertLoad load = PowerLawLoad({tokens, 64, 6, 1}, 1.01);
    EXPECT_NEAR(load.rows, 6.0 * static_cast<double>(tokens), 1e-6) << tokens;
    EXPECT_EQ(load.tokens, tokens) << tokens;
    EXPECT_LE(load.experts, 64) << tokens;
    EXPECT_GE(load.experts, std::min<double>(6, 64)) << tokens;
  }
}

TEST(PowerLawLoad, TheBusiestRankHasMoreThanItsPart) {
  for (const int64_t tokens : {64, 1000, 30000}) {
    for (const int ranks : {2, 8, 32}) {
      const ExpertLoad load = PowerLawLoad({tokens, 256, 8, ranks}, 1.2);
      const double part = 8.0 * static_cast<double>(tokens) / ranks;
      EXPECT_GT(load.rows, 1.05 * part) << tokens << " on " << ranks;
      EXPECT_LT(load.rows, 8.0 * static_cast<double>(tokens));
      EXPECT_LE(load.experts, 256 / ranks);
      EXPECT_LE(load.tokens, tokens);
      EXPECT_LE(load.tokens, load.rows);
    }
  }
}

// The sum of many experts strays less from its mean than that of few.
TEST(PowerLawLoad, FewerExpertsARankAreLessEven) {
  double last = 1;
  for (const int ranks : {2, 4, 16, 64}) {
    const ExpertLoad load = PowerLawLoad({4096, 256, 8, ranks}, 1.01);
    const double of_mean = load.rows * ranks / (4096.0 * 8);
    EXPECT_GT(of_mean, last) << ranks;
    last = of_mean;
  }
}

// An expert has a token once.
TEST(PowerLawLoad, NoExpertHasMoreRowsThanTokens) {
  const ExpertLoad load = PowerLawLoad({100, 4, 2, 4}, 1.2);
  EXPECT_LE(load.rows, 100);
  EXPECT_EQ(load.rows, load.tokens);
}

}  // namespace
}  // namespace mansard::calibrate
