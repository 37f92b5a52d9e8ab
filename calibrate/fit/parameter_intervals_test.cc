#include "calibrate/fit/parameter_intervals.h"

#include <cmath>
#include <numeric>

#include "calibrate/fit/newton_search.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

constexpr double kTenPercentPoint = 1.2816;

// 3 + 2 x of 40 sizes, with some percent of scatter that repeats. Of a fourth
// and a fifth parameter only the product counts; the last does nothing.
struct Line {
  Line() {
    for (int i = 0; i < 40; ++i) {
      sizes.push_back(.1 * std::pow(1.166, i));
      const double scatter = .02 * ((i * 7) % 5 - 2);
      measured.push_back((3 + 2 * sizes.back()) * std::exp(scatter));
    }
    groups.resize(sizes.size());
    std::iota(groups.begin(), groups.end(), size_t{0});
  }
  Predict Formula() const {
    return [this](const std::vector<double>& values,
                  std::vector<double>& predicted) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        predicted[i] = values[0] + values[1] * values[2] * sizes[i];
      }
    };
  }
  std::vector<double> sizes;
  std::vector<double> measured;
  std::vector<size_t> groups;
  std::vector<FitParameter> parameters = {{"start", 1, .1, 10, .5},
                                          {"slope", 2, .1, 50, .5},
                                          {"factor", 1, .1, 50, .5},
                                          {"idle", 7, 1, 70, .5}};
};

std::vector<ParameterInterval> Intervals(const Line& line, int draws,
                                         double prior_weight = 1) {
  return ParameterIntervals(line.parameters, line.measured, line.groups,
                            line.Formula(), {3, 2, 1, 7},
                            {.draws = draws, .prior_weight = prior_weight});
}

double LogWidth(const ParameterInterval& interval) {
  return std::log(interval.second / interval.first);
}

TEST(ParameterIntervals, AreAsWideAsRowsAndPriorsLeaveThem) {
  const auto intervals = Intervals(Line(), 99);
  // A scatter of 3 % over about twenty rows.
  EXPECT_GT(LogWidth(intervals[0]), .005);
  EXPECT_LT(LogWidth(intervals[0]), .05);
  EXPECT_LE(intervals[0].first, 3);
  EXPECT_GE(intervals[0].second, 3);
  // Each half of the product moves against the other: by the priors' spread
  // over the square root of 2. The row tell the product alone.
  const double prior = 2 * kTenPercentPoint * .5;
  EXPECT_NEAR(LogWidth(intervals[1]), prior / std::sqrt(2), .2);
  EXPECT_NEAR(LogWidth(intervals[2]), prior / std::sqrt(2), .2);
  EXPECT_NEAR(LogWidth(intervals[3]), prior, .25);
}

TEST(ParameterIntervals, AStrongerPriorIsNarrower) {
  const auto intervals = Intervals(Line(), 99, 100);
  EXPECT_NEAR(LogWidth(intervals[3]), 2 * kTenPercentPoint * .05, .025);
}

// Ten times each: no more is known.
TEST(ParameterIntervals, RowsOfOneGroupTellNoMore) {
  Line line;
  const double alone = LogWidth(Intervals(line, 99)[0]);
  for (int copy = 1; copy < 10; ++copy) {
    for (size_t i = 0; i < 40; ++i) {
      line.sizes.push_back(line.sizes[i]);
      line.measured.push_back(line.measured[i]);
      line.groups.push_back(line.groups[i]);
    }
  }
  EXPECT_NEAR(LogWidth(Intervals(line, 99)[0]) / alone, 1, .4);
  std::iota(line.groups.begin(), line.groups.end(), size_t{0});
  EXPECT_LT(LogWidth(Intervals(line, 99)[0]) / alone, .5);
}

TEST(ParameterIntervals, HoldWhatWasFitted) {
  const Line line;
  const auto intervals =
      ParameterIntervals(line.parameters, line.measured, line.groups,
                         line.Formula(), {9, 2, 1, 7}, {});
  EXPECT_EQ(intervals[0].second, 9);
  EXPECT_LT(intervals[0].first, 3.1);
}

TEST(NewtonSearch, FindsWhatTheSearchOfFitsFinds) {
  Line line;
  line.measured[3] *= 8;
  const FitResult fit = *FitMap(line.parameters, line.measured, line.Formula(),
                                {.evaluations = 3000, .weak_loss = -1});
  const Predict formula = line.Formula();
  const std::vector<double> weights(line.measured.size(), 1);
  const NewtonResult found = NewtonSearch(
      {line.parameters, line.measured, weights, formula}, {1, 2, 1, 7}, 12);
  EXPECT_NEAR(found.values[0] / fit.values[0], 1, .003);
  EXPECT_NEAR(found.values[1] * found.values[2], fit.values[1] * fit.values[2],
              .01);
}

TEST(NewtonSearch, StaysInItsBounds) {
  Line line;
  line.parameters[0].lower = line.parameters[0].prior = 4;
  line.parameters[3].log_sigma = 0;
  const Predict formula = line.Formula();
  const std::vector<double> weights(line.measured.size(), 1);
  const NewtonResult found = NewtonSearch(
      {line.parameters, line.measured, weights, formula}, {8, 1, 1, 7}, 12);
  EXPECT_NEAR(found.values[0], 4, 1e-9);
  EXPECT_EQ(found.values[3], 7);
}

}  // namespace
}  // namespace mansard::calibrate
