#include "model/io/engine_costs_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/io/derived_stack.h"
#include "model/io/shipped.h"
#include "model/io/stack_io.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;

EngineCosts Costs() {
  EngineCosts costs;
  costs.costs[static_cast<size_t>(OpGroup::kGemm)] = {1.25, Microseconds(3)};
  costs.costs[static_cast<size_t>(OpGroup::kHost)].each = Microseconds(7);
  CostVariation version;
  version.version = "0.18.0";
  version.factor[static_cast<size_t>(OpGroup::kRouting)] = 0.9;
  CostVariation kind;
  kind.experts = false;
  kind.weight_bits = 8;
  kind.each[static_cast<size_t>(OpGroup::kQuantize)] = 1.5;
  costs.variations = {version, kind};
  costs.first_token.request = Milliseconds(155);
  costs.first_token.input_token = Seconds::Zero();
  costs.first_token.decode_passes = 0;
  costs.prefill_first = true;
  costs.tpot_ranges = {{{0.9, 1.1}, {0.8, 1.2}, {0.7, 1.3}}};
  costs.ttft_ranges = {{{0.6, 1.4}, {0.5, 1.5}, {0.4, 1.6}}};
  costs.fitted_models = {"GLM-5"};
  costs.fitted_device = true;
  costs.provenance = {ProvenanceKind::kFitted, "runs", "2026-11-30"};
  return costs;
}

TEST(EngineCostsIo, ComeBackAsTheyWent) {
  const EngineCosts costs = Costs();
  Violations violations;
  const EngineCosts back =
      EngineCostsFromProto(EngineCostsToProto(costs), violations);
  ASSERT_TRUE(violations.empty()) << violations.ToStatus();
  EXPECT_EQ(back.costs, costs.costs);
  ASSERT_EQ(back.variations.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back.variations[i].version, costs.variations[i].version);
    EXPECT_EQ(back.variations[i].experts, costs.variations[i].experts);
    EXPECT_EQ(back.variations[i].weight_bits, costs.variations[i].weight_bits);
    EXPECT_EQ(back.variations[i].factor, costs.variations[i].factor);
    EXPECT_EQ(back.variations[i].each, costs.variations[i].each);
  }
  // Zeros, too, though defaults are others.
  EXPECT_EQ(back.first_token, costs.first_token);
  EXPECT_TRUE(back.prefill_first);
  for (size_t i = 0; i < kFitSituationCount; ++i) {
    EXPECT_EQ(back.tpot_ranges[i].p10, costs.tpot_ranges[i].p10);
    EXPECT_EQ(back.tpot_ranges[i].p90, costs.tpot_ranges[i].p90);
    EXPECT_EQ(back.ttft_ranges[i].p10, costs.ttft_ranges[i].p10);
    EXPECT_EQ(back.ttft_ranges[i].p90, costs.ttft_ranges[i].p90);
  }
  EXPECT_EQ(back.fitted_models, costs.fitted_models);
  EXPECT_TRUE(back.fitted_device);
  EXPECT_EQ(back.provenance.source, "runs");
  EXPECT_EQ(back.provenance.kind, ProvenanceKind::kFitted);
}

TEST(EngineCostsIo, WordsThatAreNoneAreNamed) {
  v1::EngineCosts proto = EngineCostsToProto(Costs());
  proto.mutable_costs(0)->set_op_group("gems");
  proto.mutable_tpot_ranges(1)->set_situation("newer");
  Violations violations;
  EngineCostsFromProto(proto, violations);
  std::vector<std::string> fields;
  for (const auto& violation : violations.all()) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields,
              ElementsAre("engine_costs.op_group", "engine_costs.situation"));
}

TEST(EngineCostsIo, OfAStackTakeThePlaceOfItsBases) {
  const auto data = LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  const HardwareProfile& profile = *data->profiles.at("h200-sxm");
  const KernelStack* const base = profile.FindStack("served-vllm");
  ASSERT_NE(base, nullptr);
  ASSERT_TRUE(base->spec().engine_costs.has_value());
  // Written and read as stacks are.
  const v1::KernelStack written = KernelStackToProto(*base);
  EXPECT_EQ(written.engine_costs().SerializeAsString(),
            EngineCostsToProto(*base->spec().engine_costs).SerializeAsString());
  v1::KernelStack own;
  own.set_stack("own");
  EXPECT_EQ(WithBase(own, *base).engine_costs().SerializeAsString(),
            written.engine_costs().SerializeAsString());
  own.mutable_engine_costs()->set_prefill_first(true);
  const v1::EngineCosts replaced = WithBase(own, *base).engine_costs();
  EXPECT_TRUE(replaced.prefill_first());
  EXPECT_EQ(replaced.costs_size(), 0);
}

}  // namespace
}  // namespace mansard::model
