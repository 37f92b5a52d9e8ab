// What ranks exchange and run under each layout: by hand, on the published
// shapes of DeepSeek-V3 (hidden 7168, 256 experts of 2048, 8 a token, 61
// layers, the first 3 dense).

#include <cmath>
#include <memory>
#include <string>

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
using mansard::testing::TargetOn;
using mansard::testing::ToyHardware;

constexpr double kHiddenBytes = 7168 * 2;

// Eight a node, and a network.
ToyHardware Cluster() {
  ToyHardware toy;
  Link network = toy.fabric.links[0];
  network.tier = LinkTier::kRdma;
  network.domain_devices = 0;
  toy.fabric.links.push_back(network);
  auto& collectives = toy.stack.collectives;
  collectives[static_cast<size_t>(LinkTier::kRdma)] =
      collectives[static_cast<size_t>(LinkTier::kNvlink)];
  return toy;
}

ForwardPass Spread(const ForwardPass& pass) {
  Violations violations;
  return *pass.WithRouting({ExpertRouting::Kind::kSpread, {}}, 256, violations);
}

OpList OpsOf(const Parallelism& parallelism, const ForwardPass& pass,
             const ToyHardware& toy = Cluster()) {
  TargetSpec spec = TargetOn(BuildGraph(DeepSeekV3()), toy.Build());
  spec.parallelism = parallelism;
  return EstimatePass(BuildTarget(spec), pass).ops;
}

const GroupedGemmShape& ExpertUp(const OpList& ops) {
  return std::get<GroupedGemmShape>(Find(ops, Part::kExpertUp).shape);
}
int64_t Rows(const OpList& ops, Part part) {
  return std::get<ElementwiseShape>(Find(ops, part).shape).rows;
}

TEST(LowerLayouts, DataRanksSendTokensToTheirExperts) {
  const OpList ops =
      OpsOf({.expert = 16, .data = 16}, Spread(DecodePass(128, 100)));
  const Op& dispatch = Find(ops, Part::kExpertDispatch);
  const auto& shape = std::get<ExchangeShape>(dispatch.shape);
  EXPECT_EQ(shape.ranks, 16);
  EXPECT_EQ(shape.node_ranks, 8);
  EXPECT_EQ(shape.tokens, 8);
  EXPECT_EQ(shape.imbalance, 1);
  // One copy to each rank with some of a token's 8 experts, but the own one.
  const double copies = 8 * 16 * (1 - std::pow(15.0 / 16, 8));
  EXPECT_NEAR(dispatch.work.message.value(), copies * 15 / 16 * kHiddenBytes,
              1e-6 * kHiddenBytes);
  EXPECT_EQ(Count(ops, Part::kExpertDispatch), 58);
  EXPECT_EQ(Count(ops, Part::kExpertReturn), 58);
  EXPECT_EQ(Count(ops, Part::kFeedForwardAllReduce), 0);
  EXPECT_EQ(Count(ops, Part::kExpertGather), 0);
  EXPECT_EQ(ExpertUp(ops).rows, 128 * 8 / 16);
  EXPECT_EQ(ExpertUp(ops).experts, 16);
  EXPECT_EQ(ExpertUp(ops).n, 2 * 2048);
  // The router sees the rank's own tokens.
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kRouter).shape).m, 8);
}

TEST(LowerLayouts, TensorRanksHaveTheTokensOfTheirExperts) {
  const OpList ops =
      OpsOf({.tensor = 8, .expert = 8}, Spread(DecodePass(64, 100)));
  EXPECT_EQ(Count(ops, Part::kExpertDispatch), 0);
  EXPECT_EQ(ExpertUp(ops).rows, 64 * 8 / 8);
  EXPECT_EQ(ExpertUp(ops).n, 2 * 2048);
  EXPECT_EQ(Count(ops, Part::kFeedForwardAllReduce), 61);
  EXPECT_EQ(Find(ops, Part::kFeedForwardAllReduce).work.message.value(),
            64 * kHiddenBytes);
  // A sum for each token, of the rows that are here.
  const Op& combine = Find(ops, Part::kCombine);
  EXPECT_DOUBLE_EQ(combine.work.activations_in.value(), 64 * kHiddenBytes);
  EXPECT_EQ(combine.work.activations_out.value(), 64 * kHiddenBytes);
  EXPECT_EQ(Rows(ops, Part::kExpertActivation), 64);
}

TEST(LowerLayouts, KernelsMayPassOverOtherRanksRows) {
  ToyHardware toy = Cluster();
  toy.stack.fusion.foreign_expert_rows = 0.5;
  const OpList ops =
      OpsOf({.tensor = 8, .expert = 8}, Spread(DecodePass(64, 100)), toy);
  // 64 of its own, and half of 7 x 64.
  EXPECT_EQ(Rows(ops, Part::kExpertActivation), 64 + 7 * 32);
  EXPECT_EQ(ExpertUp(ops).rows, 64);
  EXPECT_DOUBLE_EQ(Find(ops, Part::kCombine).work.activations_in.value(),
                   (64 + 7 * 32) * kHiddenBytes);
  // Where tokens are sent, it is those that came.
  const OpList sent =
      OpsOf({.expert = 8, .data = 8}, Spread(DecodePass(64, 100)), toy);
  const double copies = 64 * (1 - std::pow(7.0 / 8, 8));
  EXPECT_EQ(Rows(sent, Part::kExpertActivation),
            std::ceil(64 + 0.5 * (copies * 8 - 64)));
}

TEST(LowerLayouts, DataRanksGatherWhereTheyShareWidths) {
  const OpList ops = OpsOf({.data = 8}, Spread(DecodePass(60, 100)));
  // Eight requests on the busiest rank.
  for (Part part : {Part::kExpertGather, Part::kExpertScatter}) {
    EXPECT_EQ(Find(ops, part).work.message.value(), 8 * 8 * kHiddenBytes);
    EXPECT_EQ(std::get<CollectiveShape>(Find(ops, part).shape).ranks, 8);
    EXPECT_EQ(Count(ops, part), 58);
  }
  EXPECT_EQ(ExpertUp(ops).rows, 60 * 8);
  EXPECT_EQ(ExpertUp(ops).n, 2 * 2048 / 8);
  EXPECT_EQ(ExpertUp(ops).experts, 256);
}

TEST(LowerLayouts, TensorRanksSendTheirShare) {
  // Widths over two, experts over four; 32 requests a data rank.
  const OpList ops =
      OpsOf({.tensor = 4, .expert = 4, .data = 2}, Spread(DecodePass(64, 100)));
  const auto& shape =
      std::get<ExchangeShape>(Find(ops, Part::kExpertDispatch).shape);
  EXPECT_EQ(shape.ranks, 4);
  EXPECT_EQ(shape.tokens, 16);
  EXPECT_EQ(ExpertUp(ops).rows, 64 * 8 / 4);
  EXPECT_EQ(ExpertUp(ops).n, 2048);
  EXPECT_EQ(Count(ops, Part::kFeedForwardAllReduce), 61);
}

TEST(LowerLayouts, AHistogramsBusiestRankIsTheRank) {
  Violations violations;
  std::vector<double> shares(256, 1);
  for (size_t e = 32; e < 64; ++e) shares[e] = 3;  // The second rank of 8.
  const ForwardPass pass = *DecodePass(64, 100).WithRouting(
      {ExpertRouting::Kind::kHistogram, shares}, 256, violations);
  const OpList ops = OpsOf({.expert = 8, .data = 8}, pass);
  EXPECT_DOUBLE_EQ(ExpertUp(ops).rows, 64 * 8 * 0.3);
  EXPECT_DOUBLE_EQ(
      std::get<ExchangeShape>(Find(ops, Part::kExpertReturn).shape).imbalance,
      0.3 * 8);
}

TEST(LowerLayouts, StagesSendTheResidualAndTheOpenBranch) {
  const OpList ops = OpsOf({.tensor = 4, .pipeline = 4}, DecodePass(64, 100));
  int transfers = 0, across = 0;
  for (const Op& op : ops) {
    if (op.part != Part::kStageTransfer) continue;
    // A quarter of two vectors from each tensor rank.
    EXPECT_EQ(op.work.message.value(), 64 * 2 * kHiddenBytes / 4);
    const auto& shape = std::get<CollectiveShape>(op.shape);
    EXPECT_EQ(shape.ranks, 2);
    transfers += op.repeat;
    across += shape.nodes() > 1 ? op.repeat : 0;
  }
  EXPECT_EQ(transfers, 3);
  EXPECT_EQ(across, 1);
  EXPECT_EQ(Count(ops, Part::kStageGather), 3);
  EXPECT_EQ(Find(ops, Part::kStageGather).work.message.value(),
            64 * 2 * kHiddenBytes);
  EXPECT_EQ(Count(ops, Part::kLatentProj), 61);
}

TEST(LowerLayouts, ContextRanksShareAPrompt) {
  const ForwardPass pass = BuildPass({{Role::kPrefill, 2, 1000, 600}});
  const OpList whole = OpsOf({.tensor = 2}, pass);
  const OpList ops = OpsOf({.tensor = 2, .context = 4}, pass);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kQueryProj).shape).m, 500);
  // Latent vectors of prefix and prompt, expanded on every rank.
  EXPECT_EQ(Find(ops, Part::kContextGather).work.message.value(),
            2.0 * 1600 * 576 * 2);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kKvExpand).shape).m, 3200);
  const Work& mine = Find(ops, Part::kAttention).work;
  const Work& all = Find(whole, Part::kAttention).work;
  EXPECT_EQ(mine.tensor.value(), all.tensor.value() / 4);
  EXPECT_EQ(mine.kv_read.value(), all.kv_read.value());
  EXPECT_EQ(mine.kv_write.value(), all.kv_write.value() / 4);
  EXPECT_EQ(mine.activations_out.value(), all.activations_out.value() / 4);
  // Its shape has as many causal pairs.
  const auto& shape =
      std::get<LatentAttentionShape>(Find(ops, Part::kAttention).shape);
  EXPECT_EQ(shape.group.new_tokens, 250);
  EXPECT_EQ(CausalPairs(250, shape.group.prior_tokens, 0) * 4,
            CausalPairs(1000, 600, 0));
  EXPECT_EQ(Count(ops, Part::kContextReduce), 0);
}

TEST(LowerLayouts, ContextRanksShareADecodesPositions) {
  const ForwardPass pass = DecodePass(8, 4000);
  const OpList whole = OpsOf({.tensor = 2}, pass);
  const OpList ops = OpsOf({.tensor = 2, .context = 4}, pass);
  const Work& mine = Find(ops, Part::kAttention).work;
  const Work& all = Find(whole, Part::kAttention).work;
  EXPECT_EQ(mine.tensor.value(), all.tensor.value() / 4);
  EXPECT_EQ(mine.kv_read.value(), all.kv_read.value() / 4);
  EXPECT_EQ(mine.activations_in.value(), all.activations_in.value());
  // 64 heads of a latent vector in two bytes, and a sum in four.
  EXPECT_EQ(Find(ops, Part::kContextReduce).work.message.value(),
            8.0 * 64 * (512 * 2 + 4));
  EXPECT_EQ(Count(ops, Part::kContextGather), 0);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kQueryProj).shape).m, 8);
}

}  // namespace
}  // namespace mansard::model
