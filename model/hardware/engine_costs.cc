#include "model/hardware/engine_costs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/magnitude.h"

namespace mansard::model {
namespace {

constexpr double kMostRatio = 20;

bool Holds(const CostVariation& variation, const CostCase& wanted) {
  return (variation.version.empty() || variation.version == wanted.version) &&
         variation.experts.value_or(wanted.experts) == wanted.experts &&
         (variation.weight_bits == 0 ||
          variation.weight_bits == wanted.weight_bits);
}

void CheckRatio(absl::string_view field, double value, Violations& violations) {
  violations.CheckRange(field, value, 1 / kMostRatio, kMostRatio);
}

void CheckFirstToken(const FirstTokenCosts& costs, Violations& violations) {
  const Violations::Scope scope(violations, "first_token");
  const std::pair<const char*, Seconds> times[] = {
      {"request_seconds", costs.request},
      {"input_token_seconds", costs.input_token},
      {"prompt_layer_seconds", costs.prompt_layer},
      {"concurrent_request_seconds", costs.concurrent_request}};
  for (const auto& [field, time] : times) {
    CheckNotNegative(field, time.value(), violations);
  }
  const std::pair<const char*, double> ratios[] = {
      {"decode_pass_ratio", costs.decode_passes},
      {"burst_ratio", costs.burst},
      {"prompt_ratio", costs.prompt},
      {"wait_ratio", costs.wait},
      {"queue_ratio", costs.queue}};
  for (const auto& [field, ratio] : ratios) {
    CheckRatio(field, ratio, violations);
  }
  violations.CheckRange("max_prompt_utilization_ratio",
                        costs.max_prompt_utilization, 0, 0.999);
}

void CheckRanges(absl::string_view field,
                 const std::array<RatioRange, kFitSituationCount>& ranges,
                 Violations& violations) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const RatioRange& range = ranges[i];
    if (range.p10 > 0 && range.p10 <= range.p90 && range.p90 < 1e3) continue;
    violations.Add(absl::StrCat(field, "[", i, "]"),
                   absl::StrCat("is ", range.p10, " to ", range.p90,
                                "; both must be positive and ascend"));
  }
}

}  // namespace

absl::string_view OpGroupName(OpGroup group) {
  switch (group) {
    case OpGroup::kGemm:
      return "gemm";
    case OpGroup::kWideGemm:
      return "wide_gemm";
    case OpGroup::kExperts:
      return "experts";
    case OpGroup::kWideExperts:
      return "wide_experts";
    case OpGroup::kRouting:
      return "routing";
    case OpGroup::kDecodeAttention:
      return "decode_attention";
    case OpGroup::kPromptAttention:
      return "prompt_attention";
    case OpGroup::kRecurrent:
      return "recurrent";
    case OpGroup::kIndex:
      return "index";
    case OpGroup::kCollective:
      return "collective";
    case OpGroup::kLargeCollective:
      return "large_collective";
    case OpGroup::kQuantize:
      return "quantize";
    case OpGroup::kElementwise:
      return "elementwise";
    case OpGroup::kHost:
      return "host";
  }
  return "";
}

std::optional<OpGroup> ParseOpGroup(absl::string_view name) {
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    const auto group = static_cast<OpGroup>(i);
    if (OpGroupName(group) == name) return group;
  }
  return std::nullopt;
}

absl::string_view FitSituationName(FitSituation situation) {
  switch (situation) {
    case FitSituation::kKnown:
      return "known";
    case FitSituation::kNewModel:
      return "new model";
    case FitSituation::kNewDevice:
      return "new device";
  }
  return "";
}

CostVariation::CostVariation() {
  factor.fill(1);
  each.fill(1);
}

EngineCosts CostsFor(const EngineCosts& costs, const CostCase& wanted) {
  EngineCosts resolved = costs;
  resolved.variations.clear();
  for (const CostVariation& variation : costs.variations) {
    if (!Holds(variation, wanted)) continue;
    for (size_t i = 0; i < kOpGroupCount; ++i) {
      resolved.costs[i].factor *= variation.factor[i];
      resolved.costs[i].each *= variation.each[i];
    }
  }
  return resolved;
}

void CheckEngineCosts(const EngineCosts& costs, Violations& violations) {
  const Violations::Scope scope(violations, "engine_costs");
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    const OpCost& cost = costs.costs[i];
    const std::string field =
        absl::StrCat("costs[\"", OpGroupName(static_cast<OpGroup>(i)), "\"]");
    violations.CheckRange(absl::StrCat(field, ".factor_ratio"), cost.factor,
                          1 / OpCost::kMostFactor, OpCost::kMostFactor);
    violations.CheckRange(absl::StrCat(field, ".each_seconds"),
                          cost.each.value(), 0, OpCost::kMostEach.value());
  }
  for (size_t v = 0; v < costs.variations.size(); ++v) {
    const std::string field = absl::StrCat("variations[", v, "]");
    for (size_t i = 0; i < kOpGroupCount; ++i) {
      CheckRatio(field, costs.variations[v].factor[i], violations);
      CheckRatio(field, costs.variations[v].each[i], violations);
    }
  }
  CheckFirstToken(costs.first_token, violations);
  CheckRanges("tpot_ranges", costs.tpot_ranges, violations);
  CheckRanges("ttft_ranges", costs.ttft_ranges, violations);
}

}  // namespace mansard::model
