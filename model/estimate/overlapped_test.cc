#include "model/estimate/overlapped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/estimate/step_time.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;
using ::testing::Contains;
using ::testing::HasSubstr;

TargetSpec Overlapping(double efficiency, int multiprocessors = 0,
                       bool experts = false) {
  ToyHardware toy;
  toy.device.multiprocessor_count = Sourced<double>{100, {}};
  TargetSpec spec = TargetOn(BuildGraph(experts ? TinyMoeGraph() : TinyGraph()),
                             toy.Build(), 2);
  spec.overlap = Overlap{efficiency, multiprocessors};
  return spec;
}

// Without overlap, of the halves one after another: computation and
// communication.
struct Streams {
  double computes = 0;
  double communicates = 0;
};
Streams StreamsOf(const Estimate& estimate) {
  Streams streams;
  for (size_t i = 0; i < estimate.ops.size(); ++i) {
    const Op& op = estimate.ops[i];
    const double time = op.repeat * ToMicroseconds(estimate.times[i].estimate);
    const bool link = std::holds_alternative<CollectiveShape>(op.shape) ||
                      std::holds_alternative<ExchangeShape>(op.shape);
    (link ? streams.communicates : streams.computes) += time;
  }
  return streams;
}

TEST(Overlap, HidesTheShorterStream) {
  for (const bool experts : {false, true}) {
    for (const double efficiency : {0.0, 0.5, 0.8, 1.0}) {
      for (const int64_t requests : {2, 7, 400'000}) {
        const Target target = BuildTarget(Overlapping(efficiency, 0, experts));
        const ForwardPass pass = DecodePass(requests, 10);
        const Estimate estimate = EstimatePass(target, pass);
        const Streams streams = StreamsOf(estimate);
        ASSERT_GT(streams.communicates, 0);
        const double longer = std::max(streams.computes, streams.communicates);
        const double shorter = std::min(streams.computes, streams.communicates);
        const double time = ToMicroseconds(estimate.phase.estimate);
        EXPECT_NEAR(time, longer + (1 - efficiency) * shorter, 1e-9 * time);
        EXPECT_GE(time, longer * (1 - 1e-12));
        EXPECT_LE(time, (longer + shorter) * (1 + 1e-12));
        EXPECT_NEAR(ToMicroseconds(estimate.phase.hidden), efficiency * shorter,
                    1e-9 * time);
      }
    }
  }
}

TEST(Overlap, RowsAddUpToTheStepAndNoneIsNegative) {
  for (const double efficiency : {0.3, 0.8, 1.0}) {
    const Target target = BuildTarget(Overlapping(efficiency, 10));
    const PhaseEstimate phase = EstimatePass(target, DecodePass(8, 10)).phase;
    double exposed = 0;
    for (const WaterfallTier& row : phase.waterfall) {
      EXPECT_GE(row.exposed.value(), 0);
      exposed += row.exposed.value();
    }
    EXPECT_NEAR(exposed / phase.estimate.value(), 1, 1e-12);
    double bounds = 0;
    for (Seconds time : phase.bound_times) bounds += time.value();
    EXPECT_NEAR(bounds / phase.estimate.value(), 1, 1e-12);
    EXPECT_LE(phase.floor, phase.overlapped);
    EXPECT_LE(phase.overlapped, phase.estimate);
    EXPECT_LE(phase.estimate, phase.serial);
    EXPECT_LE(phase.p10, phase.estimate);
    EXPECT_LE(phase.estimate, phase.p90);
  }
}

// Each half reads all weights; host costs and memory are of the whole.
TEST(Overlap, HalvesReadTheWeightsTwice) {
  TargetSpec spec = Overlapping(0.8);
  const Estimate overlapped =
      EstimatePass(BuildTarget(spec), DecodePass(8, 10));
  spec.overlap.reset();
  const Estimate plain = EstimatePass(BuildTarget(spec), DecodePass(8, 10));
  const auto hbm = static_cast<size_t>(WaterfallRow::kHbm);
  const auto weights = [&](const Estimate& estimate) {
    double sum = 0;
    for (const Op& op : estimate.ops) {
      if (op.kind == OpKind::kGemm) sum += op.repeat * op.work.weights.value();
    }
    return sum;
  };
  EXPECT_EQ(weights(overlapped), 2 * weights(plain));
  EXPECT_EQ(overlapped.phase.waterfall[hbm].kv, plain.phase.waterfall[hbm].kv);
  EXPECT_EQ(overlapped.memory.needed(), plain.memory.needed());
  EXPECT_EQ(overlapped.phase.floor <= overlapped.phase.estimate, true);
  EXPECT_EQ(plain.phase.hidden.value(), 0);
}

TEST(Overlap, MultiprocessorsThatCommunicateDoNotCompute) {
  const ForwardPass pass = PrefillPass(1000, 900);
  const auto tensor = [&](int taken) {
    const Estimate estimate =
        EstimatePass(BuildTarget(Overlapping(0.8, taken)), pass);
    double busy = 0;
    for (size_t i = 0; i < estimate.ops.size(); ++i) {
      busy += estimate.ops[i].repeat *
              estimate.times[i].busy[Resource::kTensor].value();
    }
    return busy;
  };
  // Of a hundred.
  EXPECT_NEAR(tensor(20) / tensor(0), 1 / 0.8, 1e-9);
}

TEST(Overlap, RunsPlainWhereNothingCanOverlap) {
  for (const auto& [tensor, requests] : {std::pair(1, 8), std::pair(2, 1)}) {
    TargetSpec spec = Overlapping(0.8);
    spec.parallelism.tensor = tensor;
    const Target target = BuildTarget(spec);
    const ForwardPass pass = DecodePass(requests, 10);
    EXPECT_NE(NoOverlapReason(target.setup(), pass, Overlap::Kind::kTwoBatch),
              "");
    spec.overlap.reset();
    EXPECT_EQ(EstimatePass(target, pass).phase.estimate,
              EstimatePass(BuildTarget(spec), pass).phase.estimate);
  }
}

// A prompt alone goes in one half: its work is there once.
TEST(Overlap, HalvesAddUpToThePass) {
  const ForwardPass pass = BuildPass(
      {{.role = Role::kDecode,
        .request_count = 5,
        .new_tokens = 1,
        .prior_tokens = 9},
       {.role = Role::kPrefill, .request_count = 1, .new_tokens = 64}});
  TargetSpec spec = Overlapping(0.8);
  const auto flops = [&] {
    double sum = 0;
    for (const Op& op : EstimatePass(BuildTarget(spec), pass).ops) {
      sum += op.repeat * op.work.tensor.value();
    }
    return sum;
  };
  const double overlapped = flops();
  spec.overlap.reset();
  EXPECT_NEAR(overlapped / flops(), 1, 1e-12);
}

TEST(Overlap, TheTimerAgrees) {
  const Target target = BuildTarget(Overlapping(0.7, 5));
  const ForwardPass pass = DecodePass(9, 10);
  EXPECT_EQ(StepTimer().Estimate(target, pass),
            EstimatePass(target, pass).phase.estimate);
  EXPECT_THAT(target.assumptions(), Contains(HasSubstr("two-batch overlap")));
}

// Launches that a shorter device time leaves uncovered are the host's.
TEST(Overlap, EagerLaunchesAreExposedBesideTheOverlappedTime) {
  ToyHardware toy;
  toy.stack.host.eager_launch = Microseconds(100);
  TargetSpec spec = TargetOn(BuildGraph(TinyGraph()), toy.Build(), 2);
  spec.overlap = Overlap{};
  spec.cuda_graphs = false;
  const Estimate estimate = EstimatePass(BuildTarget(spec), DecodePass(8, 10));
  double kernels = 0;
  for (const Op& op : estimate.ops) {
    if (op.kind != OpKind::kHost) kernels += op.repeat;
  }
  EXPECT_NEAR(ToMicroseconds(estimate.phase.estimate), 100 * kernels, 1e-6);
}

TEST(Overlap, RefusesWhatCannotBe) {
  TargetSpec spec = Overlapping(1.5, 100);
  spec.parallelism.pipeline = 2;
  Violations violations;
  EXPECT_FALSE(Target::Create(spec, violations).ok());
  std::string all;
  for (const Violation& violation : violations.all()) {
    all += violation.field + " ";
  }
  EXPECT_THAT(all, HasSubstr("overlap.efficiency_ratio"));
  EXPECT_THAT(all, HasSubstr("overlap.multiprocessor_count"));
  EXPECT_THAT(all, HasSubstr("overlap.kind"));
}

}  // namespace
}  // namespace mansard::model
