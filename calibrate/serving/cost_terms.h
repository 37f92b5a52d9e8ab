// Measured times of served runs as sums over costs, for FitLinear.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/serving/served_run.h"
#include "model/hardware/engine_costs.h"

namespace mansard::calibrate {

// Factors of all groups, and what each op of one adds.
inline constexpr size_t kStepCosts = 2 * model::kOpGroupCount;

enum FirstTokenTerm {
  kPrompt,
  kWait,
  kQueue,
  kBurst,
  kDecodePasses,
  kRequest,
  kInputToken,
  kPromptLayer,
  kConcurrent,
  kFirstTokenTermCount,
};

// kStepCosts, in seconds, at UnfittedCosts.
std::vector<double> TermsOfOutputToken(const ServedRun& run);

// One a FirstTokenTerm, in seconds, at UnfittedCosts; the passes as `steps`
// have them.
std::vector<double> TermsOfFirstToken(const ServedRun& run,
                                      const model::OpCosts& steps);

}  // namespace mansard::calibrate
