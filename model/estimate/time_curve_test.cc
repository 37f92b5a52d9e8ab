// Curves against the functions they are made of, at every number.

#include "model/estimate/time_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using Function = std::function<double(int64_t)>;

TimeCurve CurveOf(const Function& f, int64_t last, int64_t* calls = nullptr) {
  return TimeCurve(last, [&](int64_t x) {
    if (calls != nullptr) ++*calls;
    return Seconds::Of(f(x));
  });
}

double WorstOf(const TimeCurve& curve, const Function& f, int64_t last) {
  double worst = 0;
  for (int64_t x = 1; x <= last; ++x) {
    const double error = std::abs(curve.At(x).value() - f(x)) / std::abs(f(x));
    if (curve.HasNode(x)) {
      EXPECT_EQ(curve.At(x).value(), f(x)) << x;
    }
    worst = std::max(worst, error);
  }
  return worst;
}

TEST(TimeCurve, IsZeroAtZeroAndWhereItWasNotMade) {
  EXPECT_EQ(TimeCurve().At(0), Seconds::Zero());
  EXPECT_EQ(TimeCurve().At(12345), Seconds::Zero());
  EXPECT_EQ(CurveOf([](int64_t) { return 7; }, 10).At(0), Seconds::Zero());
}

TEST(TimeCurve, EndsWhereItIsTold) {
  const Function f = [](int64_t x) { return 1.0 + static_cast<double>(x); };
  for (const int64_t last : {1, 2, 255, 256, 257, 258, 320, 321, 5000, 70001}) {
    const TimeCurve curve = CurveOf(f, last);
    EXPECT_TRUE(curve.HasNode(last)) << last;
    EXPECT_FALSE(curve.HasNode(last + 1)) << last;
    EXPECT_LT(WorstOf(curve, f, last), 1e-12) << last;
  }
}

// Tiles of 64 and 128 rows: both sides of every step are nodes.
TEST(TimeCurve, IsExactAtStepsOfTiles) {
  for (const int64_t rows : {64, 128}) {
    const Function f = [rows](int64_t x) {
      return static_cast<double>((x + rows - 1) / rows);
    };
    const TimeCurve curve = CurveOf(f, 4096);
    EXPECT_LT(WorstOf(curve, f, 4096), 1e-12) << rows;
    for (int64_t x = 5 * rows; x < 4096; x += rows) {
      EXPECT_TRUE(curve.HasNode(x));
      EXPECT_TRUE(curve.HasNode(x + 1));
    }
  }
}

// Waves end anywhere. Each step is larger than the tolerance.
TEST(TimeCurve, FindsStepsThatLieAnywhere) {
  for (const double stride : {70.7, 263.0, 528.3}) {
    const Function f = [stride](int64_t x) {
      const double y = static_cast<double>(x);
      return 3 * std::ceil(y / stride) + 0.001 * y;
    };
    EXPECT_LE(WorstOf(CurveOf(f, 16384), f, 16384), 2 * TimeCurve::kTolerance)
        << stride;
  }
}

TEST(TimeCurve, IsWithinToleranceOfSmoothTimes) {
  const Function root = [](int64_t x) {
    return std::sqrt(10 + static_cast<double>(x));
  };
  const Function saturates = [](int64_t x) {
    return 1 + 256 * (1 - std::pow(1 - 8.0 / 256, static_cast<double>(x)));
  };
  for (const Function& f : {root, saturates}) {
    EXPECT_LE(WorstOf(CurveOf(f, 20000), f, 20000), TimeCurve::kTolerance);
  }
}

// Peaks and steps within the range, at its ends and beyond it.
TEST(TimeCurve, KnowsItsExtremesOverAnyRange) {
  const Function f = [](int64_t x) {
    const auto y = static_cast<double>(x);
    return 10 + 4 * std::sin(y / 37) + (x > 300 && x <= 400 ? 5 : 0) +
           (x > 700 ? -3 : 0);
  };
  const TimeCurve curve = CurveOf(f, 1000);
  for (const int64_t first : {1, 2, 40, 255, 290, 301, 399, 690, 999, 1000}) {
    for (const int64_t length : {0, 1, 2, 3, 17, 120, 500, 999}) {
      const int64_t last = std::min<int64_t>(1000, first + length);
      double least = curve.At(first).value();
      double most = least;
      for (int64_t x = first; x <= last; ++x) {
        least = std::min(least, curve.At(x).value());
        most = std::max(most, curve.At(x).value());
      }
      const TimeCurve::Extremes extremes = curve.Over(first, last);
      EXPECT_EQ(extremes.least.value(), least) << first << " to " << last;
      EXPECT_EQ(extremes.most.value(), most) << first << " to " << last;
    }
  }
  EXPECT_EQ(TimeCurve().Over(3, 900).most, Seconds::Zero());
}

// Ten times as long costs a few pieces more.
TEST(TimeCurve, GrowsWithTheLogarithmOfItsLength) {
  const Function f = [](int64_t x) { return 1.0 + static_cast<double>(x); };
  int64_t calls = 0;
  const TimeCurve curve = CurveOf(f, 1'000'000, &calls);
  EXPECT_LT(calls, 6000);
  EXPECT_LT(curve.memory_bytes(), size_t{40'000});
}

}  // namespace
}  // namespace mansard::model
