#include "model/io/engine_costs_io.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

std::optional<size_t> GroupIndex(const std::string& name,
                                 Violations& violations) {
  const std::optional<OpGroup> group = ParseOpGroup(name);
  if (group.has_value()) return static_cast<size_t>(*group);
  violations.Add("op_group",
                 absl::StrCat("is \"", name, "\", which is no group of ops"));
  return std::nullopt;
}

double OrOne(double ratio) { return ratio == 0 ? 1 : ratio; }

CostVariation VariationFromProto(const v1::EngineCosts::Variation& proto,
                                 Violations& violations) {
  CostVariation variation;
  variation.version = proto.engine_version();
  if (proto.has_experts()) variation.experts = proto.experts();
  variation.weight_bits = proto.weight_bit_count();
  for (const auto& ratio : proto.ratios()) {
    const std::optional<size_t> group =
        GroupIndex(ratio.op_group(), violations);
    if (!group.has_value()) continue;
    variation.factor[*group] = OrOne(ratio.factor_ratio());
    variation.each[*group] = OrOne(ratio.each_ratio());
  }
  return variation;
}

void AddVariation(const CostVariation& variation, v1::EngineCosts& proto) {
  auto& added = *proto.add_variations();
  added.set_engine_version(variation.version);
  if (variation.experts.has_value()) added.set_experts(*variation.experts);
  added.set_weight_bit_count(variation.weight_bits);
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    if (variation.factor[i] == 1 && variation.each[i] == 1) continue;
    auto& ratio = *added.add_ratios();
    ratio.set_op_group(std::string(OpGroupName(static_cast<OpGroup>(i))));
    ratio.set_factor_ratio(variation.factor[i]);
    ratio.set_each_ratio(variation.each[i]);
  }
}

FirstTokenCosts FirstTokenFromProto(const v1::EngineCosts& engine) {
  FirstTokenCosts costs;
  if (!engine.has_first_token()) return costs;
  const auto& proto = engine.first_token();
  costs.request = Seconds::Of(proto.request_seconds());
  costs.input_token = Seconds::Of(proto.input_token_seconds());
  costs.prompt_layer = Seconds::Of(proto.prompt_layer_seconds());
  costs.concurrent_request = Seconds::Of(proto.concurrent_request_seconds());
  costs.decode_passes = proto.decode_pass_ratio();
  costs.burst = proto.burst_ratio();
  costs.prompt = proto.prompt_ratio();
  costs.wait = proto.wait_ratio();
  costs.queue = proto.queue_ratio();
  costs.max_prompt_utilization = proto.max_prompt_utilization_ratio();
  return costs;
}

void FirstTokenToProto(const FirstTokenCosts& costs,
                       v1::EngineCosts::FirstTokenCosts& proto) {
  proto.set_request_seconds(costs.request.value());
  proto.set_input_token_seconds(costs.input_token.value());
  proto.set_prompt_layer_seconds(costs.prompt_layer.value());
  proto.set_concurrent_request_seconds(costs.concurrent_request.value());
  proto.set_decode_pass_ratio(costs.decode_passes);
  proto.set_burst_ratio(costs.burst);
  proto.set_prompt_ratio(costs.prompt);
  proto.set_wait_ratio(costs.wait);
  proto.set_queue_ratio(costs.queue);
  proto.set_max_prompt_utilization_ratio(costs.max_prompt_utilization);
}

using Ranges = std::array<RatioRange, kFitSituationCount>;

template <class Repeated>
void RangesFromProto(const Repeated& proto, Ranges& ranges,
                     Violations& violations) {
  for (const auto& range : proto) {
    bool known = false;
    for (size_t i = 0; i < kFitSituationCount; ++i) {
      if (FitSituationName(static_cast<FitSituation>(i)) != range.situation()) {
        continue;
      }
      ranges[i] = {range.p10_ratio(), range.p90_ratio()};
      known = true;
    }
    if (!known) {
      violations.Add("situation", absl::StrCat("is \"", range.situation(),
                                               "\"; allowed: known, new model, "
                                               "new device"));
    }
  }
}

template <class Repeated>
void RangesToProto(const Ranges& ranges, Repeated& proto) {
  for (size_t i = 0; i < kFitSituationCount; ++i) {
    auto& range = *proto.Add();
    range.set_situation(
        std::string(FitSituationName(static_cast<FitSituation>(i))));
    range.set_p10_ratio(ranges[i].p10);
    range.set_p90_ratio(ranges[i].p90);
  }
}

}  // namespace

EngineCosts EngineCostsFromProto(const v1::EngineCosts& proto,
                                 Violations& violations) {
  const Violations::Scope scope(violations, "engine_costs");
  EngineCosts costs;
  for (const auto& cost : proto.costs()) {
    const std::optional<size_t> group = GroupIndex(cost.op_group(), violations);
    if (!group.has_value()) continue;
    costs.costs[*group] = {OrOne(cost.factor_ratio()),
                           Seconds::Of(cost.each_seconds())};
  }
  for (const auto& variation : proto.variations()) {
    costs.variations.push_back(VariationFromProto(variation, violations));
  }
  costs.first_token = FirstTokenFromProto(proto);
  costs.prefill_first = proto.prefill_first();
  RangesFromProto(proto.tpot_ranges(), costs.tpot_ranges, violations);
  RangesFromProto(proto.ttft_ranges(), costs.ttft_ranges, violations);
  costs.fitted_models.assign(proto.fitted_models().begin(),
                             proto.fitted_models().end());
  costs.fitted_device = proto.fitted_device();
  costs.provenance = ProvenanceFromProto(proto.provenance(), violations);
  return costs;
}

v1::EngineCosts EngineCostsToProto(const EngineCosts& costs) {
  v1::EngineCosts proto;
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    if (costs.costs[i] == OpCost{}) continue;
    auto& cost = *proto.add_costs();
    cost.set_op_group(std::string(OpGroupName(static_cast<OpGroup>(i))));
    cost.set_factor_ratio(costs.costs[i].factor);
    cost.set_each_seconds(costs.costs[i].each.value());
  }
  for (const CostVariation& variation : costs.variations) {
    AddVariation(variation, proto);
  }
  FirstTokenToProto(costs.first_token, *proto.mutable_first_token());
  proto.set_prefill_first(costs.prefill_first);
  RangesToProto(costs.tpot_ranges, *proto.mutable_tpot_ranges());
  RangesToProto(costs.ttft_ranges, *proto.mutable_ttft_ranges());
  for (const std::string& model : costs.fitted_models) {
    proto.add_fitted_models(model);
  }
  proto.set_fitted_device(costs.fitted_device);
  *proto.mutable_provenance() = ProvenanceToProto(costs.provenance);
  return proto;
}

}  // namespace mansard::model
