#include "model/hardware/engine_costs.h"

#include <gtest/gtest.h>

#include "model/base/violations.h"

namespace mansard::model {
namespace {

size_t At(OpGroup group) { return static_cast<size_t>(group); }

TEST(EngineCosts, GroupNamesAreParsedBack) {
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    const auto group = static_cast<OpGroup>(i);
    EXPECT_EQ(ParseOpGroup(OpGroupName(group)), group);
  }
  EXPECT_EQ(ParseOpGroup("gemms"), std::nullopt);
}

TEST(EngineCosts, VariationsThatHoldMultiply) {
  EngineCosts costs;
  costs.costs[At(OpGroup::kGemm)] = {2, Microseconds(3)};
  const auto add = [&](const CostVariation& like, double factor, double each) {
    CostVariation variation = like;
    variation.factor[At(OpGroup::kGemm)] = factor;
    variation.each[At(OpGroup::kGemm)] = each;
    costs.variations.push_back(variation);
  };
  CostVariation version;
  version.version = "1.0";
  add(version, 1.5, 2);
  CostVariation experts;
  experts.experts = true;
  experts.weight_bits = 4;
  add(experts, 0.5, 1);
  const auto factor = [&](const CostCase& wanted) {
    return CostsFor(costs, wanted).costs[At(OpGroup::kGemm)];
  };
  EXPECT_EQ(factor({"", false, 16}), (OpCost{2, Microseconds(3)}));
  EXPECT_EQ(factor({"1.0", false, 16}), (OpCost{3, Microseconds(6)}));
  EXPECT_EQ(factor({"1.0", true, 4}), (OpCost{1.5, Microseconds(6)}));
  EXPECT_EQ(factor({"1.1", true, 8}), (OpCost{2, Microseconds(3)}));
  EXPECT_TRUE(CostsFor(costs, {"1.0", true, 4}).variations.empty());
}

TEST(EngineCosts, RulesNameFieldsAndLimits) {
  EngineCosts costs;
  Violations none;
  CheckEngineCosts(costs, none);
  EXPECT_TRUE(none.empty());
  costs.costs[At(OpGroup::kHost)].factor = 11;
  costs.costs[At(OpGroup::kGemm)].each = Seconds::Of(0.02);
  costs.first_token.burst = 0;
  costs.tpot_ranges[0] = {1.2, 1.1};
  Violations violations;
  CheckEngineCosts(costs, violations);
  ASSERT_EQ(violations.all().size(), 4u);
  EXPECT_EQ(violations.all()[0].field,
            "engine_costs.costs[\"gemm\"].each_seconds");
  EXPECT_EQ(violations.all()[1].field,
            "engine_costs.costs[\"host\"].factor_ratio");
  EXPECT_EQ(violations.all()[2].field, "engine_costs.first_token.burst_ratio");
  EXPECT_EQ(violations.all()[3].field, "engine_costs.tpot_ranges[0]");
}

}  // namespace
}  // namespace mansard::model
