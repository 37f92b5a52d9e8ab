#include "model/estimate/aggregate.h"

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::TargetOn;
using mansard::testing::TinyDraftingGraph;
using mansard::testing::ToyHardware;

const WaterfallTier& Row(const PhaseEstimate& step, WaterfallRow row) {
  return step.waterfall[static_cast<size_t>(row)];
}

TEST(Aggregate, AddsRepeatsAndSortsTimeIntoRows) {
  const auto profile = ToyHardware().Build();
  const HardwareView view{profile->device(), profile->fabrics()[0],
                          profile->stacks()[0]};
  Op gemm = GemmOp({.m = 1, .n = 1000, .k = 1000}, false);
  gemm.repeat = 3;
  Op reduce = AllReduceOp({4, LinkTier::kNvlink}, Bytes::Of(1e6));
  reduce.repeat = 2;
  const OpList ops = {gemm, reduce};
  const std::vector<OpTime> times = PriceAll(ops, view);
  const PhaseEstimate step = Aggregate(ops, times, DecodePass(5, 9), view);

  EXPECT_DOUBLE_EQ(step.estimate.value(),
                   (3 * times[0].estimate + 2 * times[1].estimate).value());
  EXPECT_EQ(Row(step, WaterfallRow::kHbm).weights.value(), 3 * 2e6);
  EXPECT_EQ(Row(step, WaterfallRow::kCompute).flops.value(), 3 * 2e6);
  EXPECT_EQ(Row(step, WaterfallRow::kNvlink).moved.value(), 2 * 1.5e6);
  EXPECT_NEAR(ToMicroseconds(Row(step, WaterfallRow::kLaunch).exposed), 3,
              1e-9);
  // Three waves of 2 us; twice 10 us and six steps of 1 us.
  EXPECT_NEAR(ToMicroseconds(Row(step, WaterfallRow::kSync).exposed),
              3 * 2 + 2 * 16, 1e-9);
  EXPECT_EQ(Row(step, WaterfallRow::kNvlink).peak.value(), 1e11);
  EXPECT_EQ(step.bound, Bound::kOverhead);
  EXPECT_DOUBLE_EQ(step.output_tokens_per_second, 5 / step.estimate.value());
  EXPECT_NEAR(step.memory_bandwidth_utilization,
              6e6 / 1e12 / step.estimate.value(), 1e-12);
}

// Three repeats of 1 us, two of 3 us, and a host that no family times.
TEST(Aggregate, TiersShareTheKernelsTime) {
  const Op gemm = GemmOp({.m = 1, .n = 1000, .k = 1000}, false);
  OpList ops = {gemm, gemm, gemm};
  ops[0].repeat = 3;
  ops[1].repeat = 2;
  FamilyFacts facts;
  std::vector<OpTime> times(3);
  times[0].estimate = Seconds::Of(1e-6);
  times[0].tier = Tier::kCalibrated;
  times[0].family = &facts;
  times[1].estimate = Seconds::Of(3e-6);
  times[1].tier = Tier::kSpec;
  times[1].family = &facts;
  times[2].estimate = Seconds::Of(1);
  const auto shares = TierShares(ops, times);
  EXPECT_NEAR(shares[static_cast<size_t>(Tier::kSpec)], 2. / 3, 1e-12);
  EXPECT_EQ(shares[static_cast<size_t>(Tier::kTransferred)], 0);
  EXPECT_NEAR(shares[static_cast<size_t>(Tier::kCalibrated)], 1. / 3, 1e-12);
  EXPECT_EQ(TierShares({}, {})[0], 0);
}

// Ops that draft are summed apart; what they cost stays in the step.
TEST(Aggregate, DraftingStandsApart) {
  const auto profile = ToyHardware().Build();
  const HardwareView view{profile->device(), profile->fabrics()[0],
                          profile->stacks()[0]};
  Op gemm = GemmOp({.m = 1, .n = 1000, .k = 1000}, false);
  gemm.repeat = 3;
  Op draft = gemm;
  draft.draft = true;
  draft.repeat = 2;
  const OpList ops = {gemm, draft};
  const std::vector<OpTime> times = PriceAll(ops, view);
  const PhaseEstimate step = Aggregate(ops, times, DecodePass(1, 9), view);
  const double one = times[0].estimate.value();
  EXPECT_DOUBLE_EQ(step.estimate.value(), 5 * one);
  EXPECT_DOUBLE_EQ(step.draft.value(), 2 * one);
  EXPECT_DOUBLE_EQ(step.target_model().value(), 3 * one);
  EXPECT_FALSE(step.tokens_per_decode.has_value());
}

// Four decodes and two prompts; 1 + 0.5 + 0.25 tokens a decode where half of
// the drafts are accepted.
TEST(Aggregate, GainsAreCountedWhereARateIsGiven) {
  const Target target = BuildTarget(
      TargetOn(BuildGraph(TinyDraftingGraph()), ToyHardware().Build()));
  const ForwardPass pass =
      BuildPass({{Role::kPrefill, 2, 7, 0}, {Role::kDecode, 4, 3, 20}});
  struct {
    Drafting drafting;
    std::optional<double> per_decode;
    double tokens;
  } const kCases[] = {
      {{}, std::nullopt, 6},
      {{.draft_tokens = 2}, std::nullopt, 6},
      {{.draft_tokens = 2, .acceptance_rate = 0.5}, 1.75, 2 + 4 * 1.75},
      {{.draft_tokens = 2, .acceptance_rate = 0.0}, 1.0, 6},
      {{.draft_tokens = 2, .acceptance_rate = 1.0}, 3.0, 14},
  };
  for (const auto& test : kCases) {
    Violations violations;
    const auto drafting = pass.WithDrafting(test.drafting, 1, violations);
    ASSERT_TRUE(drafting.has_value()) << violations.ToStatus();
    const PhaseEstimate step = EstimatePass(target, *drafting).phase;
    EXPECT_EQ(step.tokens_per_decode, test.per_decode);
    EXPECT_DOUBLE_EQ(step.output_tokens_per_second * step.estimate.value(),
                     test.tokens);
    EXPECT_EQ(step.draft > Seconds::Zero(), test.drafting.draft_tokens > 0);
    // The host's share is the last op; nothing else is between the two.
    EXPECT_LT(step.draft, step.estimate);
  }
}

// The acceptance case of the project: Llama-3.1-8B, one sequence of 1024
// tokens, bf16, on an H100.
TEST(Aggregate, Llama8bOnH100) {
  const auto shipped = LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  TargetSpec spec = TargetOn(shipped->graphs.at("llama-3.1-8b"),
                             shipped->profiles.at("h100-sxm"));
  const PhaseEstimate step =
      EstimatePass(BuildTarget(spec), DecodePass(1, 1024)).phase;
  EXPECT_NEAR(ToGigabytes(Row(step, WaterfallRow::kHbm).weights), 15.01, 5e-3);
  EXPECT_NEAR(ToGigabytes(Row(step, WaterfallRow::kHbm).kv), 0.1343, 1e-4);
  // (15.0098 + 0.1343) GB / 3.35 TB/s.
  EXPECT_NEAR(ToMilliseconds(step.floor), 4.52, 5e-3);
  EXPECT_EQ(step.bound, Bound::kMemory);
  spec.kv_heads = 32;
  const PhaseEstimate wide =
      EstimatePass(BuildTarget(spec), DecodePass(1, 1024)).phase;
  EXPECT_NEAR(ToGigabytes(Row(wide, WaterfallRow::kHbm).weights), 16.62, 5e-3);
  EXPECT_NEAR(ToGigabytes(Row(wide, WaterfallRow::kHbm).kv), 0.537, 1e-3);
}

}  // namespace
}  // namespace mansard::model
