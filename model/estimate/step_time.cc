#include "model/estimate/step_time.h"

#include "model/lower/lower.h"
#include "model/price/price.h"

namespace mansard::model {

Seconds StepTimer::Estimate(const Target& target, const ForwardPass& pass) {
  StageRepeats stages;
  const int micro_batches = MicroBatches(target.setup(), pass);
  if (micro_batches > 1) {
    stages = CriticalPath(TimeStages(target.setup(), pass, ops_).slowest,
                          micro_batches);
  }
  Lower(target.graph(), pass, target.layout(), target.formats(),
        target.fusion(), ops_, stages);
  const Seconds computed = SumOfEstimates(ops_, target.view());
  if (!target.spec().kv_send.has_value()) return computed;
  const std::optional<TimedOp> sent =
      TimeKvSend(target.setup(), pass, *target.spec().kv_send);
  return sent.has_value() ? computed + sent->time.estimate : computed;
}

}  // namespace mansard::model
