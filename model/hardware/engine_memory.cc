#include "model/hardware/engine_memory.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/magnitude.h"

namespace mansard::model {
namespace {

constexpr int64_t kMaxCount = 1'000'000'000;

void CheckCount(absl::string_view field, int64_t count,
                Violations& violations) {
  if (count < 1 || count > kMaxCount) {
    violations.Add(field,
                   absl::StrCat("is ", count, "; allowed: 1 to ", kMaxCount));
  }
}

}  // namespace

void CheckEngineMemory(const EngineMemory& memory, Violations& violations) {
  CheckFraction("usable_ratio", memory.usable_fraction, violations);
  CheckNotNegative("framework_bytes", memory.framework.value(), violations);
  CheckNotNegative("communication_bytes", memory.communication.value(),
                   violations);
  CheckCount("max_batched_token_count", memory.token_budget, violations);
  CheckCount("max_sequence_count", memory.sequence_limit, violations);
  CheckNotNegative("bytes_per_logit", memory.bytes_per_logit, violations);
  CheckNotNegative("fixed_workspace_bytes", memory.fixed_workspace.value(),
                   violations);
  CheckCount("block_token_count", memory.block_tokens, violations);
  CheckCount("mxfp4_width_multiple", memory.mxfp4_width_multiple, violations);
}

void CheckEngineMemoryChoice(const EngineMemoryChoice& choice,
                             Violations& violations) {
  if (choice.usable_fraction.has_value()) {
    CheckFraction("memory_utilization_ratio", *choice.usable_fraction,
                  violations);
  }
  const auto check = [&violations](absl::string_view field,
                                   const std::optional<int64_t>& count) {
    if (count.has_value() && (*count < 1 || *count > kMaxChosenTokens)) {
      violations.Add(field, absl::StrCat("is ", *count, " a data rank; ",
                                         "allowed: 1 to ", kMaxChosenTokens));
    }
  };
  check("max_batched_token_count", choice.token_budget);
  check("max_sequence_count", choice.sequence_limit);
  check("kv_block_token_count", choice.block_tokens);
}

EngineMemory WithChoice(const std::optional<EngineMemory>& memory,
                        const EngineMemoryChoice& choice) {
  EngineMemory changed = memory.value_or(EngineMemory{});
  if (!memory.has_value()) {
    changed.provenance = {ProvenanceKind::kAssumed, "limits of the engine", ""};
  }
  changed.usable_fraction =
      choice.usable_fraction.value_or(changed.usable_fraction);
  changed.token_budget = choice.token_budget.value_or(changed.token_budget);
  changed.sequence_limit =
      choice.sequence_limit.value_or(changed.sequence_limit);
  changed.block_tokens = choice.block_tokens.value_or(changed.block_tokens);
  return changed;
}

EngineMemory DefaultEngineMemory(const Device& device) {
  const bool large = device.HbmCapacity() >= Gibibytes(70) &&
                     !absl::StartsWith(device.spec().architecture, "Ampere");
  return {.usable_fraction = 0.9,
          .framework = Gibibytes(0.13),
          .communication = Gibibytes(0.41),
          .token_budget = large ? 8192 : 2048,
          .sequence_limit = large ? 1024 : 256,
          .bytes_per_logit = 38,
          .fixed_workspace = Bytes::Of(46.8e6),
          .block_tokens = 16,
          .unified_pages = true,
          .mxfp4_width_multiple = 256,
          .provenance = {
              ProvenanceKind::kScaled,
              "defaults of one serving engine; bytes from its start-up logs "
              "on the H100 (Mansard design, counting, measured memory)",
              ""}};
}

}  // namespace mansard::model
