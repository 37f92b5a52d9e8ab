// How long one step takes, and nothing else of it: what a caller asks that
// times many steps (a scheduler, a search).
#pragma once

#include <vector>

#include "model/estimate/estimate.h"
#include "model/ops/op.h"

namespace mansard::model {

// Keeps its memory from call to call: after the first passes of a kind it
// allocates nothing. One a thread; targets may change from call to call.
class StepTimer {
 public:
  // EstimatePass(target, pass).phase.estimate, bit for bit.
  Seconds Estimate(const Target& target, const ForwardPass& pass);
  // Without sending keys and values.
  Seconds Estimate(const PassSetup& setup, const ForwardPass& pass);

 private:
  OpList ops_;
  std::vector<OpTime> times_;  // Of overlap only.
};

}  // namespace mansard::model
