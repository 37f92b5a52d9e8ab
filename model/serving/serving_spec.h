// How an engine is set up to serve: limits, scheduling, role, and what it costs
// around its passes.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/engine_memory.h"

namespace mansard::model {

// Each of one data rank, as engines take them, but for the cache's.
struct ServingLimits {
  int64_t max_batched_tokens = 0;  // Of one pass. 0: the stack's.
  int64_t max_sequences = 0;       // That run at once. 0: the stack's.
  // Tokens that the cache holds, on all data ranks together, where the engine
  // itself says so. Empty: what the memory leaves.
  std::optional<int64_t> kv_token_capacity = std::nullopt;

  static constexpr int64_t kMaxBatchedTokens = 262'144;
  static constexpr int64_t kMaxSequences = 16'384;
  static constexpr int64_t kMaxKvTokens = 1'000'000'000'000;
};

enum class Scheduling {
  kMixed,         // Prompts in chunks beside decodes: vLLM, TensorRT-LLM.
  kPrefillFirst,  // Decodes stop while prompts are computed: SGLang.
};

enum class ServingRole {
  kAggregated,
  kPrefill,  // Of a disaggregated pair: prompts alone,
  kDecode,   // or outputs alone.
};

// What adds to the passes' times on the way to a request's first token. From
// the TTFT fit of the design's end-to-end section (1,065 measured rows of
// served load at fixed concurrency; a median error of 15 to 20 %), as rounded
// there.
struct ServingConstants {
  // Once a request; the rows do not say why. vLLM 14 ms, TensorRT-LLM 22 ms,
  // SGLang 155 ms.
  Seconds request = Milliseconds(14);
  // Tokeniser, HTTP and streaming.
  Seconds input_token = Microseconds(3);
  // For each layer, launched outside of graphs, of each pass of a prompt.
  Seconds prompt_layer = Microseconds(20);
  // For each request in flight.
  Seconds concurrent_request = Milliseconds(0.1);
  // Decode passes that a prompt waits for: half a pass to begin with, one for
  // each of its own passes where prompts run beside decodes; times this.
  double decode_passes = 1.5;
  // Of the first requests' arrival all at once.
  double burst = 1.1;
  // Of prompts among an engine's work: beyond it waiting times are not told
  // by the mean.
  double max_prompt_utilization = 0.95;
};

// By the engine whose kernels the stack describes: ids that begin with "sglang"
// and "trtllm"; all others are taken to be like vLLM.
Scheduling DefaultScheduling(absl::string_view stack_id);
ServingConstants DefaultServingConstants(absl::string_view stack_id);

struct ServingSpec {
  ServingLimits limits = {};
  // Empty: as the stack's engine does.
  std::optional<Scheduling> scheduling = std::nullopt;
  ServingRole role = ServingRole::kAggregated;
  std::optional<ServingConstants> constants = std::nullopt;
};

// With the stack's numbers for those not given. Rules: 0 or 1 to the maxima
// above. Violations are at "limits.max_batched_token_count",
// "limits.max_sequence_count" and "limits.kv_token_capacity_count".
ServingLimits ResolveLimits(const ServingLimits& limits,
                            const EngineMemory& memory, Violations& violations);

}  // namespace mansard::model
