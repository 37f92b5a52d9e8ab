#include "model/estimate/pipeline.h"

#include <algorithm>

#include "model/price/price.h"

namespace mansard::model {
namespace {

void LowerStages(const Target& target, const ForwardPass& pass,
                 const StageRepeats& stages, OpList& ops) {
  Lower(target.graph(), pass, target.layout(), target.formats(),
        target.fusion(), ops, stages);
}

StageRepeats Alone(int stage) {
  return {.stage = stage, .there = 1, .elsewhere = 0};
}

// Of `micro_batches` ways like `way` on all stages, over `time`.
void SetUtilization(const PhaseEstimate& way, int micro_batches,
                    PhaseEstimate& phase) {
  const double factor =
      way.estimate / phase.estimate * micro_batches / phase.pipeline.stages;
  phase.model_flops_utilization = way.model_flops_utilization * factor;
  phase.memory_bandwidth_utilization =
      way.memory_bandwidth_utilization * factor;
}

}  // namespace

Seconds StageTimes::Total() const {
  Seconds total;
  for (Seconds time : times) total += time;
  return total;
}

StageTimes TimeStages(const Target& target, const ForwardPass& pass,
                      OpList& scratch) {
  StageTimes stages;
  for (int stage = 0; stage < target.layout().pipeline(); ++stage) {
    LowerStages(target, pass, Alone(stage), scratch);
    stages.times.push_back(SumOfEstimates(scratch, target.view()));
  }
  stages.slowest = static_cast<int>(
      std::max_element(stages.times.begin(), stages.times.end()) -
      stages.times.begin());
  return stages;
}

int MicroBatches(const Target& target, const ForwardPass& pass) {
  const Layout& layout = target.layout();
  if (layout.micro_batches() == 1) return 1;
  return pass.LargestPart(layout.data()).PartsNeeded(layout.micro_batches());
}

StageRepeats CriticalPath(int slowest, int micro_batches) {
  return {.stage = slowest, .there = micro_batches, .elsewhere = 1};
}

void EstimatePipeline(const Target& target, const ForwardPass& pass,
                      Estimate& estimate) {
  const HardwareView view = target.view();
  const StageTimes stages = TimeStages(target, pass, estimate.ops);
  const int micro_batches = MicroBatches(target, pass);
  LowerStages(target, pass, {}, estimate.ops);
  PriceAll(estimate.ops, view, estimate.times);
  const PhaseEstimate way = Aggregate(estimate.ops, estimate.times, pass, view);
  PhaseEstimate& phase = estimate.phase;
  phase = way;
  if (micro_batches > 1) {
    LowerStages(target, pass, CriticalPath(stages.slowest, micro_batches),
                estimate.ops);
    PriceAll(estimate.ops, view, estimate.times);
    phase = Aggregate(estimate.ops, estimate.times, pass, view);
  }
  PipelineEstimate& pipeline = phase.pipeline;
  pipeline.stages = target.layout().pipeline();
  pipeline.micro_batches = micro_batches;
  pipeline.slowest_stage = stages.slowest;
  pipeline.stage_times = stages.times;
  const Seconds slowest = stages.times[static_cast<size_t>(stages.slowest)];
  const Seconds total = stages.Total();
  pipeline.bubble = 1 - micro_batches * (total / pipeline.stages) /
                            (total + (micro_batches - 1) * slowest);
  pipeline.steady_step = Max(way.estimate, micro_batches * slowest);
  pipeline.steady_output_tokens_per_second =
      OutputTokens(pass) / pipeline.steady_step.value();
  SetUtilization(way, micro_batches, phase);
}

MemoryFootprint PipelineFootprint(const Target& target,
                                  const ForwardPass& pass) {
  OpList ops;
  std::optional<MemoryFootprint> tightest;
  for (int stage = 0; stage < target.layout().pipeline(); ++stage) {
    LowerStages(target, pass, Alone(stage), ops);
    const MemoryFootprint memory =
        FootprintOf(ops, target.graph(), pass, target.layout(), stage,
                    target.formats(), target.view());
    tightest = tightest.has_value() ? Tightest(*tightest, memory) : memory;
  }
  return *tightest;
}

}  // namespace mansard::model
