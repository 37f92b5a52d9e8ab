#include "model/estimate/pipeline.h"

#include <algorithm>
#include <optional>

#include "model/price/price.h"

namespace mansard::model {
namespace {

void LowerStages(const PassSetup& setup, const ForwardPass& pass,
                 const StageRepeats& stages, OpList& ops) {
  Lower(setup.graph, pass, setup.layout, setup.formats, setup.fusion, ops,
        stages);
}

StageRepeats Alone(int stage) {
  return {.stage = stage, .there = 1, .elsewhere = 0};
}

// The stage's layers, and where it sends, are those of the stage before; so is
// all else between the first and the last.
bool IsLikePrevious(const PassSetup& setup, int stage) {
  const Layout& layout = setup.layout;
  if (stage < 2 || stage + 1 == layout.pipeline() ||
      layout.TransferGroup(stage) != layout.TransferGroup(stage - 1)) {
    return false;
  }
  for (size_t i = 0; i < setup.graph.spec().layer_kinds.size(); ++i) {
    if (layout.CountInStage(setup.graph, i, stage) !=
        layout.CountInStage(setup.graph, i, stage - 1)) {
      return false;
    }
  }
  return true;
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

StageTimes TimeStages(const PassSetup& setup, const ForwardPass& pass,
                      OpList& scratch) {
  StageTimes stages;
  for (int stage = 0; stage < setup.layout.pipeline(); ++stage) {
    if (IsLikePrevious(setup, stage)) {
      const Seconds same = stages.times.back();
      stages.times.push_back(same);
      continue;
    }
    LowerStages(setup, pass, Alone(stage), scratch);
    stages.times.push_back(SumOfEstimates(scratch, setup.view));
  }
  stages.slowest = static_cast<int>(
      std::max_element(stages.times.begin(), stages.times.end()) -
      stages.times.begin());
  return stages;
}

int MicroBatches(const PassSetup& setup, const ForwardPass& pass) {
  const Layout& layout = setup.layout;
  if (layout.micro_batches() == 1) return 1;
  return pass.LargestPart(layout.data()).PartsNeeded(layout.micro_batches());
}

StageRepeats CriticalPath(int slowest, int micro_batches) {
  return {.stage = slowest, .there = micro_batches, .elsewhere = 1};
}

PhaseEstimate EstimatePipeline(const PassSetup& setup, const ForwardPass& pass,
                               OpList& ops, std::vector<OpTime>& times) {
  const StageTimes stages = TimeStages(setup, pass, ops);
  const int micro_batches = MicroBatches(setup, pass);
  LowerStages(setup, pass, {}, ops);
  PriceAll(ops, setup.view, times);
  const PhaseEstimate way = Aggregate(ops, times, pass, setup.view);
  PhaseEstimate phase = way;
  if (micro_batches > 1) {
    LowerStages(setup, pass, CriticalPath(stages.slowest, micro_batches), ops);
    PriceAll(ops, setup.view, times);
    phase = Aggregate(ops, times, pass, setup.view);
  }
  PipelineEstimate& pipeline = phase.pipeline;
  pipeline.stages = setup.layout.pipeline();
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
  return phase;
}

MemoryFootprint PipelineFootprint(const PassSetup& setup,
                                  const ForwardPass& pass) {
  OpList ops;
  std::optional<MemoryFootprint> tightest;
  for (int stage = 0; stage < setup.layout.pipeline(); ++stage) {
    if (IsLikePrevious(setup, stage)) continue;
    LowerStages(setup, pass, Alone(stage), ops);
    const MemoryFootprint memory = FootprintOf(
        ops, setup.graph, pass, setup.layout, stage, setup.formats, setup.view);
    tightest = tightest.has_value() ? Tightest(*tightest, memory) : memory;
  }
  return *tightest;
}

}  // namespace mansard::model
