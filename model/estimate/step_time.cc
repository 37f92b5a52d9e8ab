#include "model/estimate/step_time.h"

#include "model/estimate/overlapped.h"
#include "model/lower/lower.h"
#include "model/price/price.h"

namespace mansard::model {

Seconds StepTimer::Estimate(const Target& target, const ForwardPass& pass) {
  const Seconds computed = Estimate(target.setup(), pass);
  if (!target.spec().kv_send.has_value()) return computed;
  const std::optional<TimedOp> sent =
      TimeKvSend(target.setup(), pass, *target.spec().kv_send);
  return sent.has_value() ? computed + sent->time.estimate : computed;
}

Seconds StepTimer::Estimate(const PassSetup& setup, const ForwardPass& pass) {
  if (setup.overlap.has_value() &&
      NoOverlapReason(setup, pass, setup.overlap->kind).empty()) {
    return EstimateOverlapped(setup, pass, ops_, times_).estimate;
  }
  StageRepeats stages;
  const int micro_batches = MicroBatches(setup, pass);
  if (micro_batches > 1) {
    stages = CriticalPath(TimeStages(setup, pass, ops_).slowest, micro_batches);
  }
  Lower(setup.graph, pass, setup.layout, setup.formats, setup.fusion, ops_,
        stages);
  return SumOfEstimates(ops_, setup.view);
}

}  // namespace mansard::model
