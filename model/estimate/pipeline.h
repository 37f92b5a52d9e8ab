// A pass through the stages of a pipeline.
#pragma once

#include "absl/container/inlined_vector.h"
#include "model/estimate/estimate.h"

namespace mansard::model {

struct StageTimes {
  absl::InlinedVector<Seconds, 4> times;  // Of one micro-batch.
  int slowest = 0;                        // The first of them.

  Seconds Total() const;
};

// By lowering and pricing one stage after the other. `scratch`: memory that the
// caller keeps.
StageTimes TimeStages(const Target& target, const ForwardPass& pass,
                      OpList& scratch);

// Micro-batches of the pass that are not empty.
int MicroBatches(const Target& target, const ForwardPass& pass);

// The ops of the critical path: those of the slowest stage for every
// micro-batch, those of the others once.
StageRepeats CriticalPath(int slowest, int micro_batches);

// Fills estimate.ops, times and phase. Precondition: there is a pipeline.
void EstimatePipeline(const Target& target, const ForwardPass& pass,
                      Estimate& estimate);

// The tightest stage's. Precondition: there is a pipeline.
MemoryFootprint PipelineFootprint(const Target& target,
                                  const ForwardPass& pass);

}  // namespace mansard::model
