#include "model/estimate/pipeline.h"

#include <memory>

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/estimate/step_time.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;

// Many equal layers: beside them head and embedding are nothing.
ModelGraphSpec Deep(int layers) {
  ModelGraphSpec spec = TinyGraph();
  spec.layer_kind_indexes.assign(static_cast<size_t>(layers), 0);
  return spec;
}

Target On(ModelGraphSpec graph, int stages, int micro_batches) {
  TargetSpec spec =
      TargetOn(BuildGraph(std::move(graph)), ToyHardware().Build());
  spec.parallelism.pipeline = stages;
  spec.parallelism.micro_batches = micro_batches;
  return BuildTarget(spec);
}

TEST(Pipeline, BubbleOfEqualStages) {
  for (int stages : {2, 4, 8}) {
    for (int micro_batches : {1, 2, 8}) {
      const Target target = On(Deep(800), stages, micro_batches);
      const PipelineEstimate pipeline =
          EstimatePass(target, DecodePass(64, 100)).phase.pipeline;
      EXPECT_EQ(pipeline.stages, stages);
      EXPECT_EQ(pipeline.micro_batches, micro_batches);
      EXPECT_NEAR(pipeline.bubble,
                  (stages - 1.0) / (micro_batches + stages - 1), 0.01);
    }
  }
}

// The path: every stage once, the slowest again for each further part.
TEST(Pipeline, TheStepIsTheCriticalPath) {
  const Target target = On(Deep(10), 3, 4);
  const ForwardPass pass = PrefillPass(16, 300);
  const Estimate estimate = EstimatePass(target, pass);
  const PipelineEstimate& pipeline = estimate.phase.pipeline;
  ASSERT_EQ(pipeline.stage_times.size(), 3u);
  Seconds way, slowest;
  for (Seconds time : pipeline.stage_times) {
    way += time;
    slowest = Max(slowest, time);
  }
  EXPECT_EQ(pipeline.stage_times[static_cast<size_t>(pipeline.slowest_stage)],
            slowest);
  const double host = estimate.times.back().estimate.value();
  EXPECT_NEAR(estimate.phase.estimate.value(),
              (way + 3 * slowest).value() + host, 1e-12);
  EXPECT_NEAR(pipeline.steady_step.value(),
              Max(way + Seconds::Of(host), 4 * slowest).value(), 1e-12);
  StepTimer timer;
  EXPECT_EQ(timer.Estimate(target, pass).value(),
            estimate.phase.estimate.value());
  // A part has four of the requests: 3, 4 and 3 layers, four times on the
  // slowest.
  const int layers = pipeline.slowest_stage == 1 ? 4 : 3;
  EXPECT_EQ(Count(estimate.ops, Part::kQkvProj), 10 + 3 * layers);
}

TEST(Pipeline, EmptyPartsAreLeftOut) {
  // Of five requests two a part: three parts.
  const Target target = On(Deep(8), 2, 4);
  EXPECT_EQ(MicroBatches(target.setup(), DecodePass(5, 10)), 3);
  EXPECT_EQ(MicroBatches(target.setup(), DecodePass(1, 10)), 1);
  EXPECT_EQ(MicroBatches(target.setup(), DecodePass(64, 10)), 4);
}

TEST(Pipeline, UtilizationIsOfAllDevices) {
  const ForwardPass pass = PrefillPass(8, 900);
  const PhaseEstimate one = EstimatePass(On(Deep(64), 1, 1), pass).phase;
  const PhaseEstimate two = EstimatePass(On(Deep(64), 2, 1), pass).phase;
  // The same work, each device idle half of the time.
  EXPECT_NEAR(two.model_flops_utilization * two.estimate.value() * 2,
              one.model_flops_utilization * one.estimate.value(), 1e-12);
}

// A layer of TinyGraph: 16 x (4 + 2 x 2) x 6 + 4 x 6 x 16, 3 x 16 x 24 and two
// norms of 16; tables of 40 x 16.
TEST(Pipeline, MemoryOfTheTightestStage) {
  constexpr double kLayer = 2 * (768 + 384 + 1152 + 32);
  constexpr double kTable = 2 * 640;
  constexpr double kNorm = 2 * 16;
  const ForwardPass pass = DecodePass(3, 20);
  const MemoryFootprint memory = EstimatePass(On(Deep(5), 2, 1), pass).memory;
  // Three layers and the embedding; two layers, the head and its norm.
  EXPECT_EQ(memory.stage, 0);
  EXPECT_EQ(memory.weights.value(), 3 * kLayer + kTable);
  EXPECT_EQ(memory.kv_cache.value(), 3 * 3 * 20 * 2 * 2 * 6 * 2);
  const MemoryFootprint even = EstimatePass(On(Deep(4), 2, 1), pass).memory;
  EXPECT_EQ(even.stage, 1);
  EXPECT_EQ(even.weights.value(), 2 * kLayer + kTable + kNorm);
  // A tied table is on both stages.
  ModelGraphSpec tied = Deep(5);
  tied.tied_embeddings = true;
  EXPECT_EQ(EstimatePass(On(tied, 2, 1), pass).memory.weights.value(),
            3 * kLayer + kTable);
  EXPECT_EQ(EstimatePass(On(tied, 5, 1), pass).memory.weights.value(),
            kLayer + kTable + kNorm);
}

}  // namespace
}  // namespace mansard::model
