#include "calibrate/measure/measure_case.h"

#include "calibrate/measure/scripted_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr Case kCase{.kind = CaseKind::kCopy, .bytes = 1 << 20};

class MeasureCaseTest : public ::testing::Test {
 protected:
  CaseResult Measure(const Case& measured = kCase, double deadline = 1e9) {
    return MeasureCase(
        backend_, measured, options_, deadline, fastest_clock_,
        [this](const Sample& sample) { samples_.push_back(sample); });
  }

  ScriptedBackend backend_;
  LoopOptions options_;
  double fastest_clock_ = 0;
  std::vector<Sample> samples_;
};

TEST_F(MeasureCaseTest, SteadyDeviceNeedsTheFewestSamples) {
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(result.seconds.count, 10u);
  EXPECT_DOUBLE_EQ(result.seconds.median, 1e-3);
  // Two runs of warm-up agree.
  EXPECT_EQ(backend_.runs, 12);
}

TEST_F(MeasureCaseTest, WarmUpRunsAreNoSamples) {
  backend_.run = [](const Case&, int run) {
    return Sample{run < 3 ? 9e-3 - 2e-3 * run : 1e-3};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.seconds.outliers, 0u);
  EXPECT_DOUBLE_EQ(result.seconds.high, 1e-3);
}

TEST_F(MeasureCaseTest, NoiseTakesMoreSamplesUntilTheMedianIsKnown) {
  ScriptedNoise noise(7);
  backend_.run = [&](const Case&, int) {
    return Sample{1e-3 * (1 + .03 * noise.Normal())};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_GT(result.seconds.count, 15u);
  EXPECT_LE(result.seconds.RelativeHalfWidth(), .01);
  EXPECT_LE(result.seconds.low, 1e-3 * 1.01);
  EXPECT_GE(result.seconds.high, 1e-3 * .99);
}

TEST_F(MeasureCaseTest, HeavyNoiseIsNoResult) {
  ScriptedNoise noise(3);
  options_.max_samples = 20;
  backend_.run = [&](const Case&, int) {
    return Sample{1e-3 * (1 + 2 * noise.Next())};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kNoisy);
  EXPECT_THAT(result.reason, HasSubstr("the median is known to +-"));
  EXPECT_GT(result.seconds.median, 0);
}

TEST_F(MeasureCaseTest, OutliersAreReportedAndMoveNothing) {
  backend_.run = [](const Case&, int run) {
    return Sample{run % 6 == 5 ? 5e-3 : 1e-3 * (1 + 1e-3 * (run % 3))};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_NEAR(result.seconds.median, 1e-3, 2e-6);
  EXPECT_GE(result.seconds.outliers, 1u);
  EXPECT_THAT(result.reason, HasSubstr("outliers of"));
}

TEST_F(MeasureCaseTest, ThrottledSamplesAreRejectedAndFollowedByAPause) {
  backend_.run = [](const Case&, int run) {
    const bool slow = run >= 4 && run < 8;
    return Sample{slow ? 2e-3 : 1e-3, slow ? 1.1e9 : 2e9};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_EQ(result.rejected, 4u);
  EXPECT_DOUBLE_EQ(result.seconds.high, 1e-3);
  EXPECT_DOUBLE_EQ(result.clock_hertz, 2e9);
  EXPECT_EQ(backend_.pauses.size(), 4u);
  EXPECT_EQ(samples_.size(), 14u);
  EXPECT_EQ(samples_[2].disturbance, "throttled to 1.10 GHz");
}

TEST_F(MeasureCaseTest, SustainedLoadKeepsTheSlowClock) {
  options_.sustained_seconds = .1;
  backend_.run = [](const Case&, int run) {
    return run < 20 ? Sample{1e-3, 2e9} : Sample{1.5e-3, 1.3e9};
  };
  Case sustained = kCase;
  sustained.sustained = true;
  const CaseResult result = Measure(sustained);
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_DOUBLE_EQ(result.seconds.median, 1.5e-3);
  EXPECT_EQ(result.rejected, 0u);
  // A burst of the same device is faster.
  EXPECT_DOUBLE_EQ(Measure().seconds.median, 1e-3);
}

TEST_F(MeasureCaseTest, MostlyDisturbedIsNoisy) {
  backend_.run = [](const Case&, int run) {
    Sample sample{1e-3};
    if (run % 3 != 0) sample.disturbance = "preempted";
    return sample;
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kNoisy);
  EXPECT_THAT(result.reason, HasSubstr("disturbed, the last: preempted"));
}

TEST_F(MeasureCaseTest, AlwaysDisturbedEnds) {
  backend_.run = [](const Case&, int) { return Sample{1e-3, 0, "preempted"}; };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kNoisy);
  EXPECT_EQ(result.reason, "all 400 samples disturbed, the last: preempted");
  EXPECT_EQ(result.seconds.count, 0u);
}

TEST_F(MeasureCaseTest, DriftIsReported) {
  options_.target_half_width = 1e-6;
  options_.max_samples = 60;
  backend_.run = [](const Case&, int run) {
    return Sample{1e-3 * (1 + 1e-3 * run)};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_NEAR(result.seconds.drift, .04, .005);
  EXPECT_THAT(result.reason, HasSubstr("drifted by +"));
}

TEST_F(MeasureCaseTest, TwoGroupsAreMeasuredAgain) {
  // The first set hops between two speeds, the second does not.
  backend_.run = [](const Case&, int run) {
    return Sample{run < 60 && run % 2 == 0 && run > 1 ? 1.2e-3 : 1e-3};
  };
  options_.max_samples = 58;
  CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_EQ(result.reason, "measured twice: two groups of samples");
  EXPECT_DOUBLE_EQ(result.seconds.high, 1e-3);
  backend_.run = [](const Case&, int run) {
    return Sample{run % 2 == 0 && run > 1 ? 1.2e-3 : 1e-3};
  };
  result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kNoisy);
  EXPECT_EQ(result.reason, "two groups of samples, again when measured anew");
}

TEST_F(MeasureCaseTest, WhatCannotRunIsSkippedWithTheReason) {
  backend_.prepare = [](const Case&) {
    return absl::UnimplementedError("libopenblas.so.0 is not installed");
  };
  CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kSkipped);
  EXPECT_EQ(result.reason, "libopenblas.so.0 is not installed");
  backend_.prepare = [](const Case&) {
    return absl::InternalError("the device fell off the bus");
  };
  result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_EQ(result.reason, "the device fell off the bus");
}

TEST_F(MeasureCaseTest, WrongResultsAreNotTimed) {
  backend_.verify = [](const Case&) {
    return absl::DataLossError("row 3, column 5 is 1.5, must be 1.25");
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_EQ(result.reason, "row 3, column 5 is 1.5, must be 1.25");
  EXPECT_EQ(backend_.runs, 0);
}

TEST_F(MeasureCaseTest, FailureWhileRunning) {
  backend_.run = [](const Case&, int run) -> absl::StatusOr<Sample> {
    if (run == 5) return absl::InternalError("an uncorrectable error");
    return Sample{1e-3};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_EQ(result.reason, "an uncorrectable error");
}

TEST_F(MeasureCaseTest, LongRunsEndAfterThree) {
  ScriptedNoise noise(5);
  backend_.run = [&](const Case&, int) {
    return Sample{1 + .01 * noise.Normal()};
  };
  const CaseResult result = Measure();
  EXPECT_EQ(result.outcome, Outcome::kMeasured);
  EXPECT_EQ(result.seconds.count, 3u);
}

TEST_F(MeasureCaseTest, DeadlineEndsIt) {
  const CaseResult result = Measure(kCase, 3.5e-3);
  EXPECT_EQ(result.outcome, Outcome::kNoisy);
  EXPECT_EQ(result.reason, "only 2 samples before time was up");
}

}  // namespace
}  // namespace mansard::calibrate
