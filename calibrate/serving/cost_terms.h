// Measured times of served runs as sums over costs, for FitLinear.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/serving/served_run.h"
#include "model/hardware/engine_costs.h"

namespace mansard::calibrate {

// Factors of all groups, what each op of one adds, and what no pass costs.
inline constexpr size_t kStepCosts = 2 * model::kOpGroupCount;
inline constexpr size_t kStepTerms = kStepCosts + 1;

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

// kStepTerms each, in seconds, at UnfittedCosts. Of the time to the first
// token, the shares of the passes in it (its waits among them) are those of
// `costs`.
std::vector<double> TermsOfOutputToken(const ServedRun& run);
std::vector<double> StepTermsOfFirstToken(const ServedRun& run,
                                          const model::EngineCosts& costs);

// One a FirstTokenTerm, in seconds, at UnfittedCosts; the passes as `steps`
// have them.
std::vector<double> TermsOfFirstToken(const ServedRun& run,
                                      const model::OpCosts& steps);

}  // namespace mansard::calibrate
