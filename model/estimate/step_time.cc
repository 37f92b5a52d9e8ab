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
  return SumOfEstimates(ops_, target.view());
}

}  // namespace mansard::model
