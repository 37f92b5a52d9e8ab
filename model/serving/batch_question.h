// What is asked of RecommendBatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "model/base/violations.h"
#include "model/serving/decode_batches.h"
#include "model/serving/serving_engine.h"
#include "model/serving/slo.h"

namespace mansard::model {

struct BatchQuestion {
  Slo slo;
  // Of the sequences to batch; one, or a histogram whose weights have any unit.
  // A batch has the shares in whole sequences, by largest remainder.
  absl::InlinedVector<ContextShare, 4> contexts;
  // New tokens of prompts that every pass carries beside the decodes, spread
  // over the data ranks. Their own cache is not counted.
  int64_t prefill_tokens = 0;
  // Each sequence verifies these.
  int draft_tokens = 0;
  // The graph's modules, where it has any, draft as many for the next pass:
  // such passes take longer to time. Else what drafts is not counted.
  bool modules_draft = true;
  // Share of drafts that are accepted where all before them were. Empty: 0, no
  // gain is taken for granted.
  std::optional<double> acceptance_rate = std::nullopt;
  // Of the cache, on all data ranks together. Empty: all the engine has.
  std::optional<int64_t> free_kv_tokens = std::nullopt;
  // Of the requests that keep coming. Empty: a time per output token is a
  // pass's over the tokens that it gains, and there is no time to first token
  // nor end to end. Given: the times are those of as many requests kept in
  // flight (ServedForm), and prefill_tokens shows in the inter-token latency
  // alone.
  std::optional<RequestShape> shape = std::nullopt;

  static constexpr size_t kMaxContexts = 64;
};

// Rules, besides those of Slo and RequestShape: 1 to kMaxContexts contexts of 1
// token (with drafts: as many as a pass computes) to the model's longest,
// finite positive weights; prefill tokens 0 to the engine's budget; 0 to
// ForwardPass::kMaxDraftTokens drafts; a rate of 0 to 1, with drafts; free
// tokens 0 or more; targets of the first token and the end need a shape, and a
// role that has them; the role decodes. Violations are at the fields of the
// question, named as in requests ("context_token_count", "contexts[i]", ...).
// Without an engine (null) what depends on it is not checked.
void CheckQuestion(const ServingEngine* engine, const BatchQuestion& question,
                   Violations& violations);

// 1 to 1 + drafts: 1 + a + a^2 + ... for each draft.
double TokensPerPass(int draft_tokens, double acceptance_rate);

}  // namespace mansard::model
