#include "model/estimate/gemm_overlap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/estimate/estimate.h"
#include "model/estimate/overlapped.h"
#include "model/estimate/step_time.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;
using ::testing::Contains;
using ::testing::HasSubstr;

// A hundred multiprocessors.
TargetSpec Behind(double efficiency, int multiprocessors = 0, int tensor = 2) {
  TargetSpec spec =
      TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build(), tensor);
  spec.overlap = Overlap{efficiency, multiprocessors, Overlap::Kind::kGemm};
  return spec;
}

Estimate Plain(TargetSpec spec, const ForwardPass& pass) {
  spec.overlap.reset();
  return EstimatePass(BuildTarget(spec), pass);
}

// Worked out from the ops of the pass without overlap: of each product that is
// followed by an all-reduce, the best number of chunks.
double Saved(const TargetSpec& spec, const Estimate& plain, double efficiency,
             int* most_chunks = nullptr) {
  const KernelStack& stack = spec.hardware->stacks().front();
  const HardwareView view{spec.hardware->device(),
                          spec.hardware->fabrics().front(), stack};
  double saved = 0;
  for (size_t i = 1; i < plain.ops.size(); ++i) {
    const Op& reduce = plain.ops[i];
    if (reduce.part != Part::kAttentionAllReduce &&
        reduce.part != Part::kFeedForwardAllReduce) {
      continue;
    }
    const auto& gemm = std::get<GemmShape>(plain.ops[i - 1].shape);
    const int waves =
        static_cast<int>(std::ceil(static_cast<double>(gemm.m) / 128) *
                         std::ceil(static_cast<double>(gemm.n) / 128) / 100);
    const double g = plain.times[i - 1].estimate.value();
    const double serial = g + plain.times[i].estimate.value();
    double best = serial;
    for (int k = 2; k <= std::min(32, waves); k *= 2) {
      const double c =
          Price(AllReduceOp(std::get<CollectiveShape>(reduce.shape),
                            reduce.work.message / k),
                view)
              .estimate.value();
      // Chunk by chunk: the GEMM's first, then the slower of both, then the
      // last message; what perfect overlap saves counts at its efficiency.
      double end = g / k;
      for (int chunk = 1; chunk < k; ++chunk) end += std::max(g / k, c);
      end += c;
      const double together = g + k * c - efficiency * (g + k * c - end);
      if (together < best && most_chunks != nullptr) {
        *most_chunks = std::max(*most_chunks, k);
      }
      best = std::min(best, together);
    }
    saved += reduce.repeat * (serial - best);
  }
  return saved;
}

TEST(GemmOverlap, RunsInTheBestNumberOfChunks) {
  for (const double efficiency : {0.0, 0.5, 0.8, 1.0}) {
    for (const int64_t tokens : {1'000, 60'000, 900'000, 5'000'000}) {
      const TargetSpec spec = Behind(efficiency);
      const ForwardPass pass = PrefillPass(tokens / 1000, 1000);
      const Estimate plain = Plain(spec, pass);
      const Estimate estimate = EstimatePass(BuildTarget(spec), pass);
      int chunks = 1;
      const double saved = Saved(spec, plain, efficiency, &chunks);
      const double time = plain.phase.estimate.value();
      EXPECT_NEAR(estimate.phase.estimate.value(), time - saved, 1e-9 * time)
          << efficiency << " " << tokens;
      EXPECT_GE(saved, 0);
      if (tokens >= 900'000 && efficiency >= 0.8) {
        EXPECT_GT(chunks, 1) << efficiency << " " << tokens;
      }
    }
  }
}

// A wave of tiles is there at the same time: nothing to send before its end.
TEST(GemmOverlap, SmallBatchesRunAsWithout) {
  const TargetSpec spec = Behind(1);
  for (const int64_t requests : {1, 64, 1024}) {
    const ForwardPass pass = DecodePass(requests, 10);
    const Estimate estimate = EstimatePass(BuildTarget(spec), pass);
    EXPECT_EQ(estimate.phase.estimate, Plain(spec, pass).phase.estimate);
    EXPECT_EQ(estimate.phase.hidden.value(), 0);
  }
}

TEST(GemmOverlap, RowsAddUpAndTheOpsSumToTheStepAndWhatIsHidden) {
  for (const double efficiency : {0.0, 0.3, 0.8, 1.0}) {
    for (const int taken : {0, 20}) {
      const Target target = BuildTarget(Behind(efficiency, taken));
      const Estimate estimate = EstimatePass(target, PrefillPass(4'000, 1000));
      const PhaseEstimate& phase = estimate.phase;
      double exposed = 0, ops = 0;
      for (const WaterfallTier& row : phase.waterfall) {
        EXPECT_GE(row.exposed.value(), 0);
        exposed += row.exposed.value();
      }
      for (size_t i = 0; i < estimate.ops.size(); ++i) {
        ops += estimate.ops[i].repeat * estimate.times[i].estimate.value();
      }
      EXPECT_NEAR(exposed / phase.estimate.value(), 1, 1e-12);
      EXPECT_NEAR(ops / (phase.estimate + phase.hidden).value(), 1, 1e-12);
      EXPECT_LE(phase.floor, phase.overlapped);
      EXPECT_LE(phase.overlapped, phase.estimate);
      EXPECT_LE(phase.estimate, phase.serial);
      EXPECT_LE(phase.p10, phase.estimate);
      EXPECT_LE(phase.estimate, phase.p90);
      EXPECT_EQ(StepTimer().Estimate(target, PrefillPass(4'000, 1000)),
                phase.estimate);
    }
  }
}

// Where chunks are taken, the message is whole and its latency paid each time.
TEST(GemmOverlap, ChunksAddUpToTheMessage) {
  const TargetSpec spec = Behind(1);
  const ForwardPass pass = PrefillPass(4'000, 1000);
  const auto messages = [](const Estimate& estimate) {
    double bytes = 0, count = 0;
    for (const Op& op : estimate.ops) {
      if (op.kind != OpKind::kAllReduce) continue;
      bytes += op.repeat * op.work.message.value();
      count += op.repeat;
    }
    return std::pair(bytes, count);
  };
  const auto [bytes, count] = messages(EstimatePass(BuildTarget(spec), pass));
  const auto [whole, once] = messages(Plain(spec, pass));
  EXPECT_NEAR(bytes / whole, 1, 1e-12);
  EXPECT_GT(count, once);
}

TEST(GemmOverlap, MultiprocessorsThatCommunicateAreLost) {
  const ForwardPass pass = PrefillPass(4'000, 1000);
  const auto time = [&](int taken) {
    return EstimatePass(BuildTarget(Behind(0.8, taken)), pass).phase.estimate;
  };
  EXPECT_GT(time(50), time(0));
  // And never more than overlap gains.
  EXPECT_LE(time(99), Plain(Behind(0.8), pass).phase.estimate);
}

TEST(GemmOverlap, SaysWhereThereIsNothingToHide) {
  const Target single = BuildTarget(Behind(0.8, 0, 1));
  const ForwardPass pass = PrefillPass(10, 1000);
  EXPECT_NE(NoOverlapReason(single.setup(), pass, Overlap::Kind::kGemm), "");
  EXPECT_EQ(EstimatePass(single, pass).phase.hidden.value(), 0);
  // One request is enough: it needs no halves.
  const Target target = BuildTarget(Behind(0.8));
  EXPECT_EQ(NoOverlapReason(target.setup(), PrefillPass(1, 1000),
                            Overlap::Kind::kGemm),
            "");
  EXPECT_THAT(target.assumptions(),
              Contains(HasSubstr("overlap behind products")));
}

}  // namespace
}  // namespace mansard::model
