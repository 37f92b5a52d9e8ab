// Fits of times made up from known parameters.

#include "calibrate/fit/map_fit.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

// 3 + 2 x, of 40 sizes x from 0.1 to 40; the third parameter does nothing.
struct Line {
  Line() {
    for (int i = 0; i < 40; ++i) sizes.push_back(.1 * std::pow(1.166, i));
    for (double size : sizes) measured.push_back(3 + 2 * size);
  }
  Predict Formula() const {
    return [this](const std::vector<double>& values,
                  std::vector<double>& predicted) {
      for (size_t i = 0; i < sizes.size(); ++i) {
        predicted[i] = values[0] + values[1] * sizes[i];
      }
    };
  }
  std::vector<double> sizes;
  std::vector<double> measured;
  std::vector<FitParameter> parameters = {{"start", 1, .1, 10, .5},
                                          {"slope", 5, .1, 50, .5},
                                          {"idle", 7, 1, 70, .5}};
};

TEST(MapFit, FindsWhatTheRowsTell) {
  const Line line;
  const absl::StatusOr<FitResult> fit =
      FitMap(line.parameters, line.measured, line.Formula(), {});
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  EXPECT_NEAR(fit->values[0], 3, .03);
  EXPECT_NEAR(fit->values[1], 2, .02);
  EXPECT_LT(fit->mean_loss, 1e-3);
  EXPECT_EQ(fit->residuals.size(), 40u);
}

TEST(MapFit, LeavesAWeakParameterAtItsPrior) {
  const Line line;
  const FitResult fit =
      *FitMap(line.parameters, line.measured, line.Formula(), {});
  EXPECT_EQ(fit.weak, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(fit.values[2], 7);
}

TEST(MapFit, AFewWildRowsCountLittle) {
  Line line;
  line.measured[3] *= 8;
  line.measured[20] *= 5;
  const FitResult fit =
      *FitMap(line.parameters, line.measured, line.Formula(), {});
  EXPECT_NEAR(fit.values[0], 3, .1);
  EXPECT_NEAR(fit.values[1], 2, .05);
}

TEST(MapFit, StaysInItsBounds) {
  Line line;
  line.parameters[1].upper = 5;
  line.parameters[1].lower = 4;
  const FitResult fit =
      *FitMap(line.parameters, line.measured, line.Formula(), {});
  EXPECT_GE(fit.values[1], 4 * (1 - 1e-12));
  EXPECT_LE(fit.values[1], 5 * (1 + 1e-12));
}

TEST(MapFit, RefusesWhatCannotBeFitted) {
  Line line;
  const auto problem = [&] {
    return std::string(
        FitMap(line.parameters, line.measured, line.Formula(), {})
            .status()
            .message());
  };
  line.measured[5] = 0;
  EXPECT_THAT(problem(), HasSubstr("a measured time is 0"));
  line = Line();
  line.parameters[0].prior = 20;
  EXPECT_THAT(problem(), HasSubstr("start: the prior 20 must lie in the bounds "
                                   "0.1 to 10"));
  line = Line();
  line.measured.resize(3);
  EXPECT_THAT(problem(), HasSubstr("3 cannot tell 3 parameters"));
}

TEST(SpreadOf, TenthOfTheNormal) {
  // Of sizes 1 to 100, 80 % lie below 81.
  std::vector<double> residuals;
  for (int i = 1; i <= 100; ++i) residuals.push_back(i % 2 == 0 ? i : -i);
  EXPECT_NEAR(SpreadOf(residuals, .8), 81 / 1.28155, 1e-3);
  EXPECT_EQ(SpreadOf({}, .8), 0);
}

}  // namespace
}  // namespace mansard::calibrate
