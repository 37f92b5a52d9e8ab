// How many sequences may run now.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/batch_question.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

struct BatchAnswer {
  // Every batch up to it holds all targets and has room. 0: not even one
  // sequence does.
  int64_t batch = 0;
  // What one sequence more would break; of several the first in this order.
  BatchLimit limit = BatchLimit::kEngine;
  std::optional<SloTarget> broken_target;  // With kSlo,
  std::optional<Seconds> next_batch_time;  // and what it takes then, if known.
  // At that batch; of one sequence where the batch is 0.
  StepPrediction step;
  SloValues values;
  std::optional<SloMargin> headroom;  // Empty without targets.
  double output_tokens_per_second = 0;
  double tokens_per_pass = 1;  // Of a sequence.
  int64_t batches_looked_at = 0;
};

// Violations are those of CheckQuestion.
//
// Some ten microseconds where the engine has curves for the passes; else every
// batch up to the answer is lowered and priced: see IsQuick.
std::optional<BatchAnswer> RecommendBatch(const ServingEngine& engine,
                                          const BatchQuestion& question,
                                          StepTimer& timer,
                                          Violations& violations);

// Whether the question's passes are on the engine's curves. Precondition:
// RecommendBatch has no violations for it.
bool IsQuick(const ServingEngine& engine, const BatchQuestion& question);

}  // namespace mansard::model
