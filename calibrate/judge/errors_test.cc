#include "calibrate/judge/errors.h"

#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

TEST(Errors, AreOfTheSizesButForTheBias) {
  ErrorSums sums;
  for (const double error : {.1, -.2, .3, -.4, .6}) sums.Add(error, error > 0);
  const Errors errors = sums.Result();
  EXPECT_EQ(errors.rows, 5u);
  EXPECT_NEAR(errors.mean, .32, 1e-12);
  EXPECT_NEAR(errors.median, .3, 1e-12);
  // At place 3.6 of the sorted .1 .2 .3 .4 .6.
  EXPECT_NEAR(errors.p90, .52, 1e-12);
  EXPECT_NEAR(errors.bias, .08, 1e-12);
  EXPECT_NEAR(errors.in_range, .6, 1e-12);
}

TEST(Errors, OfAnEvenNumberOfRowsTheMedianIsBetween) {
  ErrorSums sums;
  for (const double error : {.4, .1, .2, .3}) sums.Add(error, true);
  EXPECT_NEAR(sums.Result().median, .25, 1e-12);
}

TEST(Errors, WithoutRowsAreZero) {
  EXPECT_EQ(ErrorSums().Result().rows, 0u);
  EXPECT_EQ(ErrorSums().Result().mean, 0);
  EXPECT_TRUE(DecilesOf({}).empty());
}

TEST(Deciles, AreAsLargeAsCanBe) {
  std::vector<SizedError> rows;
  for (int i = 25; i > 0; --i) rows.push_back({i * 1.0, i / 100.0, true});
  const std::vector<Decile> deciles = DecilesOf(rows);
  ASSERT_EQ(deciles.size(), 10u);
  size_t total = 0;
  for (const Decile& decile : deciles) {
    EXPECT_GE(decile.errors.rows, 2u);
    EXPECT_LE(decile.errors.rows, 3u);
    total += decile.errors.rows;
  }
  EXPECT_EQ(total, 25u);
  EXPECT_EQ(deciles.front().from, 1);
  EXPECT_EQ(deciles.front().to, 2);
  EXPECT_NEAR(deciles.front().errors.mean, .015, 1e-12);
  EXPECT_EQ(deciles.back().to, 25);
}

TEST(Deciles, AreAsManyAsThereAreRows) {
  const std::vector<Decile> deciles =
      DecilesOf({{2, .2, true}, {1, .1, false}});
  ASSERT_EQ(deciles.size(), 2u);
  EXPECT_EQ(deciles[0].from, 1);
  EXPECT_EQ(deciles[0].errors.in_range, 0);
  EXPECT_EQ(deciles[1].errors.in_range, 1);
}

}  // namespace
}  // namespace mansard::calibrate
