// A pass through the stages of a pipeline.
#pragma once

#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "model/estimate/aggregate.h"
#include "model/estimate/memory.h"
#include "model/lower/lower.h"
#include "model/workload/overlap.h"

namespace mansard::model {

// What a pass is lowered and priced with. The parts outlive it.
struct PassSetup {
  const ModelGraph& graph;
  const Layout& layout;
  const PassFormats& formats;
  const Fusion& fusion;
  HardwareView view;
  std::optional<Overlap> overlap = std::nullopt;
};

struct StageTimes {
  absl::InlinedVector<Seconds, 4> times;  // Of one micro-batch.
  int slowest = 0;                        // The first of them.

  Seconds Total() const;
};

// By lowering and pricing one stage after the other. `scratch`: memory that the
// caller keeps.
StageTimes TimeStages(const PassSetup& setup, const ForwardPass& pass,
                      OpList& scratch);

// Micro-batches of the pass that are not empty.
int MicroBatches(const PassSetup& setup, const ForwardPass& pass);

// The ops of the critical path: those of the slowest stage for every
// micro-batch, those of the others once.
StageRepeats CriticalPath(int slowest, int micro_batches);

// Fills `ops` and `times`, whose memory it uses again. Precondition: there is a
// pipeline.
PhaseEstimate EstimatePipeline(const PassSetup& setup, const ForwardPass& pass,
                               OpList& ops, std::vector<OpTime>& times);

// The tightest stage's. Precondition: there is a pipeline.
MemoryFootprint PipelineFootprint(const PassSetup& setup,
                                  const ForwardPass& pass);

}  // namespace mansard::model
