// Experts and latent attention: totals of passes on the published shapes and
// the parts of toy layers. Every op's counts are checked by ops/op_test and
// tests/reference.

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/lower/lower.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::DecodePass;
using mansard::testing::DeepSeekV3;
using mansard::testing::Find;
using mansard::testing::Mixtral8x7b;
using mansard::testing::Sum;
using mansard::testing::TargetOn;
using mansard::testing::TinyLatentGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::Totals;
using mansard::testing::ToyHardware;

// Neither dense, nor always two experts, nor always all.
TEST(Lower, ExpertsThatTokensTouchAreRead) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(Mixtral8x7b()), ToyHardware().Build()));
  // One token reads the active parameters but the table, and its row.
  EXPECT_EQ(Sum(target, DecodePass(1, 10)).weights,
            2.0 * (12879925248 - 32000 * 4096 + 4096));
  const double expert = 3.0 * 4096 * 14336 * 2;
  const double others = 2.0 * (46702792704 - 32000 * 4096) - 32 * 8 * expert;
  const auto experts_read = [&](int64_t tokens) {
    const double table = 2.0 * 4096 * static_cast<double>(tokens);
    const double weights = Sum(target, DecodePass(tokens, 10)).weights;
    return (weights - others - table) / (32 * expert);
  };
  EXPECT_NEAR(experts_read(2), 3.5, 1e-9);
  EXPECT_NEAR(experts_read(16), 7.92, 0.005);
  EXPECT_NEAR(experts_read(512), 8, 1e-9);
}

// A step's tokens are routed together: weights are read for their union.
TEST(Lower, MixedPassRoutesAllTokensAtOnce) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(Mixtral8x7b()), ToyHardware().Build()));
  const RequestGroup prompt{Role::kPrefill, 1, 3, 5};
  const RequestGroup decodes{Role::kDecode, 2, 1, 100};
  const OpList ops =
      EstimatePass(target, BuildPass({prompt, decodes, decodes})).ops;
  EXPECT_EQ(Count(ops, Part::kExpertUp), 32);
  const auto& up = std::get<GroupedGemmShape>(Find(ops, Part::kExpertUp).shape);
  EXPECT_EQ(up.rows, 2 * (3 + 2 + 2));
  // 8 (1 - 0.75^7).
  EXPECT_NEAR(up.distinct_experts, 6.932, 0.001);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kRouter).shape).m, 7);
}

TEST(Lower, RoutingOfThePassDecidesWhatIsRead) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(TinyMoeGraph()), ToyHardware().Build()));
  const auto distinct = [&](ExpertRouting routing) {
    Violations violations;
    const auto pass =
        DecodePass(3, 10).WithRouting(std::move(routing), 4, violations);
    return std::get<GroupedGemmShape>(
               Find(EstimatePass(target, *pass).ops, Part::kExpertDown).shape)
        .distinct_experts;
  };
  EXPECT_EQ(distinct({ExpertRouting::Kind::kIndependent, {}}), 3.5);
  EXPECT_EQ(distinct({ExpertRouting::Kind::kSpread, {}}), 4);
  EXPECT_EQ(distinct({ExpertRouting::Kind::kHistogram, {1, 0, 0, 2}}), 2);
}

class DeepSeek : public ::testing::Test {
 protected:
  Target On(int tensor) const {
    return BuildTarget(
        TargetOn(BuildGraph(DeepSeekV3()), ToyHardware().Build(), tensor));
  }
};

TEST_F(DeepSeek, FirstLayersAreDenseTheOthersHaveASharedExpert) {
  const OpList ops = EstimatePass(On(1), DecodePass(1, 100)).ops;
  EXPECT_EQ(Count(ops, Part::kUpProj), 3);
  EXPECT_EQ(Count(ops, Part::kRouter), 58);
  EXPECT_EQ(Count(ops, Part::kExpertUp), 58);
  EXPECT_EQ(Count(ops, Part::kSharedUp), 58);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kUpProj).shape).n, 2 * 18432);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kSharedUp).shape).n, 2 * 2048);
  EXPECT_EQ(std::get<GroupedGemmShape>(Find(ops, Part::kExpertUp).shape)
                .distinct_experts,
            8);
}

// Weights: the active parameters but the table, of which one row is read. Their
// GEMMs take two operations each; so do scores and values over the cache.
TEST_F(DeepSeek, DecodeOfOneToken) {
  const Totals sums = Sum(On(1), DecodePass(1, 4096));
  const double table = 129280.0 * 7168;
  const double norms = 61.0 * (2 * 7168 + 1536 + 512) + 7168;
  EXPECT_EQ(sums.weights, 2 * (37552282624 - table + 7168));
  EXPECT_EQ(sums.flops, 2 * (37552282624 - table - norms) +
                            61 * 2.0 * 128 * 4096 * (2 * 512 + 64));
  EXPECT_EQ(sums.kv_read, 4096 * 70272.0);
  EXPECT_EQ(sums.kv_write, 70272);
}

TEST_F(DeepSeek, CacheIsReadWholeOnEveryRank) {
  for (int tensor : {1, 2, 8}) {
    const Totals sums = Sum(On(tensor), DecodePass(5, 1000));
    EXPECT_EQ(sums.kv_read, 5 * 1000 * 70272.0);
    EXPECT_EQ(sums.kv_write, 5 * 70272.0);
  }
}

// Keys and values of the 500 cached and 200 new positions are rebuilt: every
// other weight works on the new tokens alone.
TEST_F(DeepSeek, PrefillExpandsThePrefix) {
  const Totals sums = Sum(On(1), BuildPass({{Role::kPrefill, 1, 200, 500}}));
  const double table = 129280.0 * 7168;
  const double norms = 61.0 * (2 * 7168 + 1536 + 512) + 7168;
  const double expansion = 61.0 * 512 * 128 * 256;
  const double pairs = 200.0 * 500 + 200.0 * 201 / 2;
  EXPECT_EQ(sums.flops,
            2 * 200 * (37552282624 - 2 * table - norms - expansion) +
                2 * 700 * expansion + 2 * table +
                61 * 2.0 * 128 * (128 + 64 + 128) * pairs);
  EXPECT_EQ(sums.kv_read, 500 * 70272.0);
  EXPECT_EQ(sums.kv_write, 200 * 70272.0);
}

TEST(Lower, NarrowInputsOfExpertsAndLatentsAreQuantisedOnce) {
  const auto ops_of = [](ModelGraphSpec graph) {
    TargetSpec spec =
        TargetOn(BuildGraph(std::move(graph)), ToyHardware().Build());
    spec.weights = spec.activations = Format::kFp8E4m3;
    return EstimatePass(
               BuildTarget(spec),
               BuildPass({{Role::kPrefill, 1, 4, 2}, {Role::kDecode, 2, 1, 6}}))
        .ops;
  };
  const OpList moe = ops_of(TinyMoeGraph());
  // Routed and shared experts read the same vectors.
  EXPECT_EQ(Count(moe, Part::kFeedForwardQuantize), 2);
  EXPECT_EQ(Count(moe, Part::kExpertDownQuantize), 2);
  EXPECT_EQ(Count(moe, Part::kSharedDownQuantize), 2);
  EXPECT_EQ(std::get<GemmShape>(Find(moe, Part::kRouter).shape).weights,
            Format::kBf16);

  ModelGraphSpec direct = TinyLatentGraph();
  EXPECT_EQ(Count(ops_of(direct), Part::kQueryQuantize), 2);
  EXPECT_EQ(Count(ops_of(direct), Part::kKvQuantize), 2);
  // Direct queries read what the latent projection reads.
  std::get<LatentAttention>(*direct.layer_kinds[0].attention).query_lora_rank =
      0;
  EXPECT_EQ(Count(ops_of(direct), Part::kAttentionQuantize), 2);
  EXPECT_EQ(Count(ops_of(direct), Part::kQueryQuantize), 0);
}

}  // namespace
}  // namespace mansard::model
