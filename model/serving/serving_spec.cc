#include "model/serving/serving_spec.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

enum class EngineKind { kVllm, kTensorRt, kSglang };

EngineKind KindOf(absl::string_view stack_id) {
  if (absl::StartsWith(stack_id, "sglang")) return EngineKind::kSglang;
  if (absl::StartsWith(stack_id, "trtllm")) return EngineKind::kTensorRt;
  return EngineKind::kVllm;
}

// 0 is the stack's, within what is allowed.
int64_t Resolved(absl::string_view field, int64_t asked, int64_t of_stack,
                 int64_t most, Violations& violations) {
  if (asked == 0) return std::clamp<int64_t>(of_stack, 1, most);
  violations.CheckRange(field, static_cast<double>(asked), 1,
                        static_cast<double>(most));
  return asked;
}

}  // namespace

absl::string_view BatchLimitName(BatchLimit limit) {
  switch (limit) {
    case BatchLimit::kSlo:
      return "slo";
    case BatchLimit::kKvBudget:
      return "kv_budget";
    case BatchLimit::kEngine:
      return "engine";
  }
  return "";
}

void CheckAdmission(const Admission& admission, Violations& violations) {
  const Violations::Scope scope(violations, "admission");
  const auto most = static_cast<double>(Admission::kMaxPasses);
  violations.CheckRange("poll_pass_count",
                        static_cast<double>(admission.poll_passes), 1, most);
  violations.CheckRange("batch_wait_pass_count",
                        static_cast<double>(admission.batch_wait_passes), 0,
                        most);
  const double share = admission.batch_wait_token_share;
  if (!(share > 0 && share <= 1)) {
    violations.Add("batch_wait_token_ratio",
                   absl::StrCat("is ", share, "; allowed: above 0 to 1"));
  }
}

Scheduling DefaultScheduling(const KernelStackSpec& stack) {
  if (stack.engine_costs.has_value()) {
    return stack.engine_costs->prefill_first ? Scheduling::kPrefillFirst
                                             : Scheduling::kMixed;
  }
  return KindOf(stack.id) == EngineKind::kSglang ? Scheduling::kPrefillFirst
                                                 : Scheduling::kMixed;
}

ServingConstants DefaultServingConstants(const KernelStackSpec& stack) {
  if (stack.engine_costs.has_value()) return stack.engine_costs->first_token;
  ServingConstants constants;
  switch (KindOf(stack.id)) {
    case EngineKind::kVllm:
      break;
    case EngineKind::kTensorRt:
      constants.request = Milliseconds(22);
      break;
    case EngineKind::kSglang:
      constants.request = Milliseconds(155);
      break;
  }
  return constants;
}

ServingLimits ResolveLimits(const ServingLimits& limits,
                            const EngineMemory& memory,
                            Violations& violations) {
  const Violations::Scope scope(violations, "limits");
  ServingLimits resolved = limits;
  resolved.max_batched_tokens = Resolved(
      "max_batched_token_count", limits.max_batched_tokens, memory.token_budget,
      ServingLimits::kMaxBatchedTokens, violations);
  resolved.max_sequences =
      Resolved("max_sequence_count", limits.max_sequences,
               memory.sequence_limit, ServingLimits::kMaxSequences, violations);
  if (limits.kv_token_capacity.has_value()) {
    violations.CheckRange("kv_token_capacity_count",
                          static_cast<double>(*limits.kv_token_capacity), 1,
                          static_cast<double>(ServingLimits::kMaxKvTokens));
  }
  if (limits.kv_block_tokens.has_value()) {
    violations.CheckRange("kv_block_token_count",
                          static_cast<double>(*limits.kv_block_tokens), 1,
                          static_cast<double>(ServingLimits::kMaxBlockTokens));
  }
  const double share = limits.memory_utilization.value_or(1);
  if (!(share > 0 && share <= 1)) {
    violations.Add("memory_utilization_ratio",
                   absl::StrCat("is ", share, "; allowed: above 0 to 1"));
  }
  return resolved;
}

}  // namespace mansard::model
