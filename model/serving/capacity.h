// How many requests a second an engine serves within targets.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/request_load.h"
#include "model/serving/served_form.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

enum class CapacityObjective {
  kThroughput,  // The most requests a second.
  kLatency,     // The least time end to end; per output token, where there is
                // no other.
};

struct CapacityQuestion {
  RequestShape shape;
  Slo slo;
  DraftGain gain;
  CapacityObjective objective = CapacityObjective::kThroughput;
};

// Rules: those of shape, gain and, below "slo", of targets. Without an engine
// (null) what depends on it is not checked.
void CheckCapacityQuestion(const ServingEngine* engine,
                           const CapacityQuestion& question,
                           Violations& violations);

struct CapacityAnswer {
  // Of the batch, kept full in a steady state.
  double requests_per_second = 0;
  double output_tokens_per_second = 0;
  // Kept in flight; of a prefill engine prompts that are computed together. 0:
  // there is no room for one.
  int64_t batch = 0;
  SloValues values;
  // All targets hold. Where they hold at no batch, the answer is the best
  // without them.
  bool meets_slo = false;
  // What keeps the batch from one more: kSlo where that would break a target,
  // or this one does already. Empty: one more is possible, and no better.
  std::optional<BatchLimit> limit;
  std::optional<SloTarget> broken_target;  // With kSlo.
  // Of the time, the share in which the engine works: on passes that decode
  // and on what prompts add. The rest are costs around them.
  double utilization = 0;
  int64_t batches_looked_at = 0;
};

// The batch that is best by the objective of all that hold the targets, the
// smallest of equal ones: every batch from 1 to MostSequences is one to choose.
// Times are those of served load (ServedForm) with as many requests in flight,
// at a steady state. A prefill engine computes as many whole prompts in one
// pass as its budget allows, or one prompt a data rank; a decode engine has no
// time to first token and none end to end, and does not meet a target of them.
// Violations are those of CheckCapacityQuestion.
std::optional<CapacityAnswer> FindCapacity(const ServingEngine& engine,
                                           const CapacityQuestion& question,
                                           StepTimer& timer,
                                           Violations& violations);

}  // namespace mansard::model
