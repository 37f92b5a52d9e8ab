// An engine's costs in prices: by the stack, and put over the kernels' times.
#include "model/estimate/step_groups.h"

#include <gtest/gtest.h>

#include "model/base/violations.h"
#include "model/estimate/step_time.h"
#include "model/io/shipped.h"
#include "model/price/op_group.h"

namespace mansard::model {
namespace {

Target TargetOn(const ShippedData& data, const KernelStack& stack,
                const std::string& version) {
  TargetSpec spec;
  spec.graph = data.graphs.at("qwen3-30b-a3b");
  spec.hardware = data.profiles.at("h100-sxm");
  spec.fabric = &spec.hardware->fabrics().front();
  spec.stack = &stack;
  spec.parallelism.tensor = 2;
  spec.engine_version = version;
  Violations violations;
  return *Target::Create(spec, violations);
}

TEST(StepGroups, CostsInTheStackAreThoseOverTheGroups) {
  const auto data = LoadShippedData();
  ASSERT_TRUE(data.ok());
  const KernelStack& plain = *data->profiles.at("h100-sxm")->FindStack("");
  EngineCosts costs;
  for (size_t i = 0; i < kOpGroupCount; ++i) {
    costs.costs[i] = {1 + 0.1 * static_cast<double>(i + 1),
                      Microseconds(static_cast<double>(i))};
  }
  CostVariation slow;
  slow.version = "9";
  slow.factor.fill(2);
  costs.variations.push_back(slow);
  KernelStackSpec spec = plain.spec();
  spec.engine_costs = costs;
  Violations violations;
  const auto costly = KernelStack::Create(spec, violations);
  ASSERT_TRUE(costly.has_value());

  const Target without = TargetOn(*data, plain, "");
  const auto pass = ForwardPass::Create(
      {{Role::kPrefill, 1, 1000, 0}, {Role::kDecode, 16, 1, 2000}}, 1 << 20,
      violations);
  ASSERT_TRUE(pass.has_value());
  OpList ops;
  StepTimer timer;
  const StepGroups groups = GroupsOfStep(without, *pass, ops);
  EXPECT_NEAR(groups.Total() / timer.Estimate(without, *pass), 1, 1e-12);
  EXPECT_LE(groups.floor, groups.Total());

  const Target with = TargetOn(*data, *costly, "");
  EXPECT_NEAR(groups.With(costs.costs) / timer.Estimate(with, *pass), 1, 1e-9);
  OpCosts slower = costs.costs;
  for (OpCost& cost : slower) cost.factor *= 2;
  const Target of_version = TargetOn(*data, *costly, "9");
  EXPECT_NEAR(groups.With(slower) / timer.Estimate(of_version, *pass), 1, 1e-9);

  // What the whole estimate attributes still sums to it.
  const Estimate whole = EstimatePass(with, *pass);
  Seconds sum;
  for (int r = 0; r < kResourceCount; ++r) {
    sum += whole.phase.attributed[static_cast<Resource>(r)];
  }
  EXPECT_NEAR(sum / whole.phase.estimate, 1, 1e-9);
  EXPECT_NEAR(whole.phase.estimate / timer.Estimate(with, *pass), 1, 1e-9);
}

TEST(StepGroups, SizesTellWideFromNarrow) {
  EXPECT_EQ(OpGroupOf(GemmOp({512, 64, 64}, false)), OpGroup::kGemm);
  EXPECT_EQ(OpGroupOf(GemmOp({513, 64, 64}, false)), OpGroup::kWideGemm);
  GroupedGemmShape shape{
      .rows = 64, .distinct_experts = 4, .experts = 4, .n = 64, .k = 64};
  EXPECT_EQ(OpGroupOf(GroupedGemmOp(shape, 64)), OpGroup::kExperts);
  shape.rows = 65;
  EXPECT_EQ(OpGroupOf(GroupedGemmOp(shape, 65)), OpGroup::kWideExperts);
  EXPECT_EQ(OpGroupOf(AllReduceOp({8}, Bytes::Of(8e6))), OpGroup::kCollective);
  EXPECT_EQ(OpGroupOf(AllReduceOp({8}, Bytes::Of(8.1e6))),
            OpGroup::kLargeCollective);
}

}  // namespace
}  // namespace mansard::model
