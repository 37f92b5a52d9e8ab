#include "model/estimate/step_time.h"

#include "model/lower/lower.h"
#include "model/price/price.h"

namespace mansard::model {

Seconds StepTimer::Estimate(const Target& target, const ForwardPass& pass) {
  Lower(target.graph(), pass, target.layout(), target.formats(),
        target.fusion(), ops_);
  return SumOfEstimates(ops_, target.view());
}

}  // namespace mansard::model
