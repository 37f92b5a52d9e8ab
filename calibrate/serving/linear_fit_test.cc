#include "calibrate/serving/linear_fit.h"

#include <gtest/gtest.h>

#include <random>

namespace mansard::calibrate {
namespace {

// Two costs, of which one group of rows has the second 1.5 times as large.
std::vector<LinearRow> Rows(bool with_outliers) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> size(0.5, 2);
  std::vector<LinearRow> rows;
  for (int i = 0; i < 200; ++i) {
    LinearRow row;
    row.terms = {size(random), size(random)};
    const bool second = i % 2 == 1;
    row.levels = {0, second ? 2u : 1u};
    row.measured = 1.2 * row.terms[0] + (second ? 1.5 : 1.0) * row.terms[1];
    if (with_outliers && i % 20 == 0) row.measured *= 3;
    rows.push_back(row);
  }
  return rows;
}

TEST(LinearFit, FindsWhatRowsWereMadeFrom) {
  for (const bool with_outliers : {false, true}) {
    const std::vector<LinearRow> rows = Rows(with_outliers);
    const auto fitted =
        FitLinear(rows, {{"a", 0.5}, {"b", 0.5}}, 3, {.ridge = 1e-6});
    ASSERT_TRUE(fitted.ok()) << fitted.status();
    const auto& m = *fitted;
    EXPECT_NEAR(m[0][0] * m[1][0], 1.2, 0.03);
    EXPECT_NEAR(m[0][1] * m[1][1], 1.0, 0.03);
    EXPECT_NEAR(m[0][1] * m[2][1], 1.5, 0.03);
  }
}

TEST(LinearFit, PriorsBoundsAndSigmasHold) {
  const std::vector<LinearRow> rows = Rows(false);
  // A strong ridge leaves all at the prior; no sigma leaves one there.
  const auto held =
      FitLinear(rows, {{"a", 0.5}, {"b", 0.5}}, 3, {.ridge = 1e3});
  ASSERT_TRUE(held.ok());
  EXPECT_NEAR((*held)[0][0], 1, 1e-3);
  const auto fixed =
      FitLinear(rows, {{"a", 0}, {"b", 0.5}}, 3, {.ridge = 1e-6});
  ASSERT_TRUE(fixed.ok());
  for (const auto& level : *fixed) EXPECT_EQ(level[0], 1);
  const auto bounded = FitLinear(rows, {{"a", 0.5}, {"b", 0.5}}, 3,
                                 {.ridge = 1e-6, .reach = 1.05});
  ASSERT_TRUE(bounded.ok());
  for (const auto& level : *bounded) {
    for (const double value : level) {
      EXPECT_LE(value, 1.05 + 1e-9);
      EXPECT_GE(value, 1 / 1.05 - 1e-9);
    }
  }
  EXPECT_FALSE(FitLinear({}, {{"a", 1}}, 1, {}).ok());
  EXPECT_FALSE(FitLinear(rows, {{"a", 1}}, 3, {}).ok());
}

TEST(LinearFit, PredictionIsTheProductOverLevels) {
  EXPECT_DOUBLE_EQ(PredictLinear({{2, 3}, 1, {0, 1}}, {{1.5, 1}, {2, 0.5}}),
                   2 * 3 + 1.5);
}

}  // namespace
}  // namespace mansard::calibrate
