// How an engine is set up to serve: limits, scheduling, role, and what it costs
// around its passes.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/engine_memory.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

// Each of one data rank, as engines take them, but for the cache's.
struct ServingLimits {
  int64_t max_batched_tokens = 0;  // Of one pass. 0: the stack's.
  int64_t max_sequences = 0;       // That run at once. 0: the stack's.
  // Tokens that the cache holds, on all data ranks together, where the engine
  // itself says so. Empty: what the memory leaves.
  std::optional<int64_t> kv_token_capacity = std::nullopt;

  // Tokens of a block of the cache. Empty: the stack's.
  std::optional<int64_t> kv_block_tokens = std::nullopt;
  // Share of the device's memory that the engine uses. Empty: the stack's.
  std::optional<double> memory_utilization = std::nullopt;

  static constexpr int64_t kMaxBatchedTokens = 1'000'000;
  static constexpr int64_t kMaxSequences = 65'536;
  static constexpr int64_t kMaxBlockTokens = 65'536;
  static constexpr int64_t kMaxKvTokens = 1'000'000'000'000;
};

enum class Scheduling {
  kMixed,         // Prompts in chunks beside decodes: vLLM, TensorRT-LLM.
  kPrefillFirst,  // Decodes stop while prompts are computed: SGLang.
};

// When an engine looks at requests that have come. Passes are those that
// decode: where nothing runs, nobody waits.
struct Admission {
  // Requests are read at every one of so many passes, and after a pass with
  // prompts (SGLang's scheduler-recv-interval).
  int64_t poll_passes = 1;
  // Prompts are held back for so many passes, or until those that wait fill
  // so much of a pass's token budget (TensorRT-LLM's batch_wait_timeout_iters
  // and batch_wait_max_tokens_ratio).
  int64_t batch_wait_passes = 0;
  double batch_wait_token_share = 1;

  static constexpr int64_t kMaxPasses = 100'000;
  bool operator==(const Admission&) const = default;
};
// Rules: polls 1 and waits 0 to kMaxPasses, the share above 0 and at most 1.
// Violations are at "admission.poll_pass_count",
// "admission.batch_wait_pass_count" and "admission.batch_wait_token_ratio".
void CheckAdmission(const Admission& admission, Violations& violations);

enum class ServingRole {
  kAggregated,
  kPrefill,  // Of a disaggregated pair: prompts alone,
  kDecode,   // or outputs alone.
};

// What adds to the passes' times on the way to a request's first token.
using ServingConstants = FirstTokenCosts;

// The stack's own where it has costs of an engine. Else by the engine whose
// kernels it describes: ids that begin with "sglang" and "trtllm"; all others
// are taken to be like vLLM.
Scheduling DefaultScheduling(const KernelStackSpec& stack);
ServingConstants DefaultServingConstants(const KernelStackSpec& stack);

// What keeps a batch from growing.
enum class BatchLimit {
  kSlo,
  kKvBudget,
  kEngine,  // Sequences, or new tokens of a pass.
};
absl::string_view BatchLimitName(BatchLimit limit);

// Of one deployment: what it takes over what is predicted for any like it.
struct OwnFactors {
  double step = 1;         // Of all passes.
  double first_token = 1;  // Of times to the first token, over the passes'.

  bool operator==(const OwnFactors&) const = default;
};

struct ServingSpec {
  ServingLimits limits = {};
  // Empty: as the stack's engine does.
  std::optional<Scheduling> scheduling = std::nullopt;
  Admission admission = {};
  ServingRole role = ServingRole::kAggregated;
  std::optional<ServingConstants> constants = std::nullopt;
};

// With the stack's numbers for those not given. Rules: 0 or 1 to the maxima
// above; the share is above 0 and at most 1. Violations are at
// "limits.max_batched_token_count", "limits.max_sequence_count",
// "limits.kv_token_capacity_count", "limits.kv_block_token_count" and
// "limits.memory_utilization_ratio".
ServingLimits ResolveLimits(const ServingLimits& limits,
                            const EngineMemory& memory, Violations& violations);

}  // namespace mansard::model
