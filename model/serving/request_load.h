// One kind of request on one engine, checked: what served load and capacity
// have in common. Internal to model/serving.
#pragma once

#include <cstdint>
#include <optional>

#include "model/base/violations.h"
#include "model/serving/decode_batches.h"
#include "model/serving/served_passes.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

// Tokens that a pass gains each sequence, and the drafts that they cost.
struct DraftGain {
  // 1 to 1 + drafts.
  double tokens_per_pass = 1;
  // That each sequence verifies. Empty: as few as the tokens take.
  std::optional<int> draft_tokens = std::nullopt;
  // The graph's modules, where it has any, make them; else what does is not
  // counted.
  bool modules_draft = true;

  int drafts() const;
};

// Violations are at "accepted_tokens_per_pass_count" and "draft_token_count".
void CheckGain(const DraftGain& gain, Violations& violations);
// And below `shape`: also that a request fits the model's longest context.
// Without an engine (null) what depends on it is not checked.
void CheckRequest(const ServingEngine* engine, const RequestShape& shape,
                  const DraftGain& gain, Violations& violations);

// Sequences that may run at once, each half way through its output: what the
// engine's limits and the cache allow; 0 where there is no room for one.
int64_t MostSequences(const ServingEngine& engine, const RequestShape& shape,
                      const DraftGain& gain);

// Passes of such requests at their mean context. Not moved.
class RequestLoad {
 public:
  RequestLoad(const ServingEngine& engine, const RequestShape& shape,
              const DraftGain& gain, StepTimer& timer);
  RequestLoad(const RequestLoad&) = delete;
  RequestLoad& operator=(const RequestLoad&) = delete;

  const DecodeBatches& batches() const { return batches_; }
  const ServedPasses& passes() const { return passes_; }
  const ServedForm& form() const { return form_; }

 private:
  DecodeBatches batches_;
  ServedPasses passes_;
  ServedForm form_;
};

}  // namespace mansard::model
