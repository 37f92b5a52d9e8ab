#include "model/estimate/kernel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/price/communication_way.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KernelTest : public ::testing::Test {
 protected:
  KernelSpec SpecOf(KernelWork work) {
    KernelSpec spec;
    spec.hardware = toy_.Build();
    spec.fabric = &spec.hardware->fabrics()[0];
    spec.stack = &spec.hardware->stacks()[0];
    spec.work = std::move(work);
    return spec;
  }
  KernelEstimate Priced(const KernelSpec& spec) {
    Violations violations;
    absl::StatusOr<KernelEstimate> kernel = EstimateKernel(spec, violations);
    EXPECT_TRUE(kernel.ok()) << kernel.status() << violations.ToStatus();
    return kernel.ok() ? *std::move(kernel) : KernelEstimate();
  }
  // Fields that break a rule, in order.
  std::vector<std::string> Refused(KernelWork work) {
    Violations violations;
    EXPECT_EQ(
        EstimateKernel(SpecOf(std::move(work)), violations).status().code(),
        absl::StatusCode::kInvalidArgument);
    std::vector<std::string> fields;
    for (const Violation& violation : violations.all()) {
      fields.push_back(violation.field);
    }
    return fields;
  }
  ToyHardware toy_;
};

TEST_F(KernelTest, GemmIsTheOp) {
  const KernelEstimate kernel = Priced(SpecOf(GemmKernel{64, 4096, 1024, 3}));
  ASSERT_EQ(kernel.ops.size(), 1u);
  EXPECT_THAT(kernel.names, ElementsAre("gemm"));
  const double flops = 2.0 * 3 * 64 * 4096 * 1024;
  EXPECT_EQ(kernel.ops[0].work.tensor.value(), flops);
  const double bytes = 3 * 2.0 * (4096.0 * 1024 + 64.0 * 1024 + 64.0 * 4096);
  EXPECT_NEAR(kernel.intensity.value(), flops / bytes, 1e-9);
  EXPECT_NEAR(kernel.ridge.value(), 1e15 / 1e12, 1e-9);
  EXPECT_EQ(kernel.estimate, kernel.times[0].estimate);
  EXPECT_EQ(kernel.bound, Bound::kMemory);
}

TEST_F(KernelTest, FormatsSelectTheRate) {
  KernelSpec spec = SpecOf(GemmKernel{64, 64, 64});
  spec.formats.weights = Format::kFp8E4m3;
  KernelEstimate kernel = Priced(spec);
  EXPECT_NEAR(kernel.ridge.value(), 1000, 1e-9);
  EXPECT_THAT(kernel.assumptions,
              ::testing::Contains(HasSubstr("weight-only")));
  spec.formats.activations = Format::kFp8E4m3;
  EXPECT_NEAR(Priced(spec).ridge.value(), 2000, 1e-9);
  spec.formats.activations = Format::kInt8;
  Violations violations;
  EXPECT_EQ(EstimateKernel(spec, violations).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(violations.empty());
}

TEST_F(KernelTest, AttentionHasAnOpAGroup) {
  AttentionKernel attention{
      .pass =
          BuildPass({{Role::kPrefill, 1, 128, 0}, {Role::kDecode, 4, 1, 999}}),
      .attention = GroupedQueryAttention{
          .query_heads = 8, .kv_heads = 2, .head_size = 64}};
  const KernelEstimate kernel = Priced(SpecOf(attention));
  EXPECT_THAT(kernel.names,
              ElementsAre("attention_prefill[0]", "attention_decode[1]"));
  EXPECT_NEAR(kernel.estimate.value(),
              (kernel.times[0].estimate + kernel.times[1].estimate).value(),
              1e-15);
}

TEST_F(KernelTest, FullAndUnfusedAttention) {
  AttentionKernel attention{
      .pass = PrefillPass(1, 256),
      .attention = GroupedQueryAttention{
          .query_heads = 1, .kv_heads = 1, .head_size = 64}};
  const double causal = Priced(SpecOf(attention)).ops[0].work.tensor.value();
  attention.full = true;
  KernelSpec spec = SpecOf(attention);
  const Op fused = Priced(spec).ops[0];
  EXPECT_EQ(causal, 4.0 * 64 * 256 * 257 / 2);
  EXPECT_EQ(fused.work.tensor.value(), 4.0 * 64 * 256 * 256);
  spec.unfused_attention = true;
  const Op unfused = Priced(spec).ops[0];
  // Scores and weights, each written and read: 4 N^2 elements of two bytes.
  EXPECT_EQ((unfused.work.activations() - fused.work.activations()).value(),
            2 * 4.0 * 256 * 256);
}

// As ops of the published shapes: see ops/attention_kinds_test.
TEST_F(KernelTest, AttentionKindsAreTheirOps) {
  const RequestGroup decode{Role::kDecode, 2, 1, 65535};
  const auto op_of = [&](Attention attention) {
    const KernelEstimate kernel = Priced(SpecOf(AttentionKernel{
        .pass = BuildPass({decode}), .attention = std::move(attention)}));
    EXPECT_THAT(kernel.names, ElementsAre("attention_decode"));
    return kernel.ops.at(0);
  };
  const Op wide = op_of(GroupedQueryAttention{.query_heads = 64,
                                              .kv_heads = 4,
                                              .head_size = 192,
                                              .value_head_size = 128});
  EXPECT_EQ(wide.work.tensor.value(), 2 * 2.0 * (192 + 128) * 64 * 65536);
  EXPECT_EQ(wide.work.kv_read.value(), 2 * 65536.0 * 4 * (192 + 128) * 2);
  LatentAttention latent{
      .query_heads = 128,
      .kv_lora_rank = 512,
      .query_lora_rank = 1536,
      .nope_head_size = 128,
      .rope_head_size = 64,
      .value_head_size = 128,
      .indexer = SparseIndexer{.heads = 64, .head_size = 128, .top_k = 2048}};
  EXPECT_EQ(op_of(latent).work.kv_read.value(), 2 * 2048.0 * 576 * 2);
  const CompressedAttention compressed{
      .query_heads = 64,
      .head_size = 512,
      .rope_head_size = 64,
      .query_lora_rank = 1024,
      .output_groups = 8,
      .output_lora_rank = 1024,
      .sliding_window = 128,
      .ratio = 4,
      .indexer = SparseIndexer{.heads = 64, .head_size = 128, .top_k = 512}};
  EXPECT_EQ(op_of(compressed).work.kv_read.value(),
            2 * (128.0 + 512) * 512 * 2);
}

TEST_F(KernelTest, CrossAttentionNeedsAModel) {
  EXPECT_THAT(
      Refused(AttentionKernel{
          .pass = DecodePass(1, 10),
          .attention =
              CrossAttention{.query_heads = 4, .kv_heads = 2, .head_size = 8}}),
      ElementsAre("attention.attention.cross"));
}

TEST_F(KernelTest, ExpertsAreTheOpsOfAModelsLayer) {
  const MixtureOfExperts experts{.expert_count = 8,
                                 .experts_per_token = 2,
                                 .expert_intermediate_size = 32,
                                 .shared_intermediate_size = 48};
  ModelGraphSpec graph = TinyGraph();
  graph.layer_kinds[0].feed_forward = experts;
  KernelSpec spec = SpecOf(ExpertsKernel{40, graph.hidden_size, experts, {}});
  spec.formats.weights = spec.formats.activations = Format::kFp8E4m3;
  const KernelEstimate kernel = Priced(spec);
  TargetSpec target_spec = TargetOn(BuildGraph(graph), spec.hardware);
  target_spec.weights = target_spec.activations = Format::kFp8E4m3;
  const Target target = BuildTarget(target_spec);
  const Estimate step = EstimatePass(target, PrefillPass(1, 40));
  std::vector<std::string> in_model;
  Seconds time;
  for (size_t i = 0; i < step.ops.size(); ++i) {
    const Op& op = step.ops[i];
    if (op.layer_kind < 0 || (in_model.empty() && op.part != Part::kRouter)) {
      continue;
    }
    in_model.push_back(std::string(PartName(op.part)));
    time += step.times[i].estimate;
  }
  EXPECT_EQ(kernel.names, in_model);
  EXPECT_THAT(
      kernel.names,
      ElementsAre("router", "top_k", "ffn_quantize", "expert_up",
                  "expert_activation", "expert_down_quantize", "expert_down",
                  "combine", "shared_up", "shared_activation",
                  "shared_down_quantize", "shared_down", "shared_sum"));
  EXPECT_NEAR(kernel.estimate.value(), time.value(), 1e-15);
}

TEST_F(KernelTest, CollectivesNeedAFamily) {
  const CollectiveKernel reduce{CollectiveKernel::Operation::kAllReduce, 1e6,
                                8};
  const KernelEstimate kernel = Priced(SpecOf(reduce));
  EXPECT_THAT(kernel.names, ElementsAre("all_reduce"));
  EXPECT_EQ(kernel.bound, Bound::kOverhead);
  toy_.stack.collectives[static_cast<size_t>(LinkTier::kNvlink)].reset();
  Violations violations;
  EXPECT_EQ(EstimateKernel(SpecOf(reduce), violations).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// Toy: one line, 10 us + 1 us a step, 100 GB/s of what the busiest rank sends;
// 1 GB of 8 ranks, of which the memory's 1 TB/s hides behind the link.
TEST_F(KernelTest, EveryCollectiveHasItsStepsAndBytes) {
  using Operation = CollectiveKernel::Operation;
  const struct {
    Operation operation;
    int ranks;
    double steps, wire;  // In GB.
    const char* way;
  } kCases[] = {
      {Operation::kAllReduce, 8, 14, 2 * 7.0 / 8, "ring simple"},
      {Operation::kAllGather, 8, 7, 7.0 / 8, "ring simple"},
      {Operation::kReduceScatter, 8, 7, 7.0 / 8, "ring simple"},
      {Operation::kAllToAll, 8, 7, 7.0 / 8, "direct simple"},
      {Operation::kBroadcast, 8, 7, 1, "ring simple"},
      {Operation::kSendReceive, 2, 1, 1, "direct simple"},
  };
  for (const auto& c : kCases) {
    // Its families are what the answer points to.
    const KernelSpec spec = SpecOf(CollectiveKernel{c.operation, 1e9, c.ranks});
    const KernelEstimate kernel = Priced(spec);
    SCOPED_TRACE(kernel.names.front());
    const OpTime& time = kernel.times.front();
    EXPECT_NEAR(ToMicroseconds(time.busy[Resource::kNvlink]), 1e4 * c.wire,
                1e-6);
    EXPECT_NEAR(ToMicroseconds(time.busy[Resource::kSync]), 10 + c.steps, 1e-6);
    // All of it at the link's rate.
    EXPECT_NEAR(ToMicroseconds(kernel.floor), 1e4 * c.wire, 1e-6);
    EXPECT_EQ(WayText(time.way), c.way);
    EXPECT_EQ(time.tier, c.operation == Operation::kBroadcast
                             ? std::min(time.family->tier, Tier::kTransferred)
                             : time.family->tier);
  }
}

// Eight ranks, 2 experts of 16 a token: 64 tokens of 1,000 bf16 elements.
TEST_F(KernelTest, ExchangesSendACopyToEachRank) {
  CollectiveKernel dispatch{CollectiveKernel::Operation::kExpertDispatch, 0, 8};
  dispatch.exchanged = ExchangedTokens{.tokens = 64,
                                       .hidden = 1000,
                                       .experts_per_token = 2,
                                       .experts = 16,
                                       .imbalance = 1.5};
  const auto bytes = [&] {
    return Priced(SpecOf(dispatch)).ops.front().work.message.value();
  };
  // Of 8 ranks 2 independent choices reach 8 (1 - (7/8)^2), 7 of 8 are others.
  const double copies = 64 * 8 * (1 - 49.0 / 64) * 7 / 8;
  EXPECT_NEAR(bytes(), 1.5 * copies * 2000, 1e-6);
  KernelSpec fp8 = SpecOf(dispatch);
  fp8.formats.activations = Format::kFp8E4m3;
  EXPECT_NEAR(Priced(fp8).ops.front().work.message.value(), 1.5 * copies * 1000,
              1e-6);
  // Outputs come back in 16 bits, whatever the way out.
  dispatch.operation = CollectiveKernel::Operation::kExpertCombine;
  KernelSpec back = SpecOf(dispatch);
  back.formats.activations = Format::kFp8E4m3;
  EXPECT_NEAR(Priced(back).ops.front().work.message.value(),
              1.5 * copies * 2000, 1e-6);
  // Unset: more than the mean, as one rank in eight is the busiest.
  dispatch.exchanged->imbalance.reset();
  EXPECT_GT(bytes(), copies * 2000);
  EXPECT_LT(bytes(), 2 * copies * 2000);
}

TEST_F(KernelTest, AForcedAlgorithmIsTakenOrRefusedWithThoseThereAre) {
  CollectiveKernel reduce{CollectiveKernel::Operation::kAllReduce, 1e6, 8};
  reduce.algorithm = CollectiveAlgorithm::kRing;
  EXPECT_EQ(Priced(SpecOf(reduce)).times.front().way.algorithm,
            CollectiveAlgorithm::kRing);
  reduce.algorithm = CollectiveAlgorithm::kOneShot;
  Violations violations;
  EXPECT_EQ(EstimateKernel(SpecOf(reduce), violations).status().code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(violations.all().size(), 1);
  EXPECT_EQ(violations.all()[0].field, "collective.algorithm");
  EXPECT_THAT(violations.all()[0].description, HasSubstr("bytes: ring"));
}

TEST_F(KernelTest, RanksLieInAsFewNodesAsTheFabricAllows) {
  Link network;
  network.tier = LinkTier::kRdma;
  network.bandwidth = {GigabytesPerSecond(10), {}};
  toy_.fabric.links.push_back(network);
  toy_.stack.collectives[static_cast<size_t>(LinkTier::kRdma)] =
      toy_.stack.collectives[static_cast<size_t>(LinkTier::kNvlink)];
  toy_.stack.collectives[static_cast<size_t>(LinkTier::kRdma)]->facts.id =
      "network";
  CollectiveKernel gather{CollectiveKernel::Operation::kAllGather, 1e6, 12};
  const auto shape = [&] {
    return std::get<CollectiveShape>(Priced(SpecOf(gather)).ops.front().shape);
  };
  EXPECT_EQ(shape().nodes(), 2);
  EXPECT_EQ(shape().node_ranks, 6);
  EXPECT_EQ(shape().tier, LinkTier::kRdma);
  gather.nodes = 4;
  EXPECT_EQ(shape().node_ranks, 3);
  gather.ranks = 8;
  gather.nodes = 0;
  EXPECT_EQ(shape().nodes(), 1);
  // 0.125 MB of each of 2 nodes' 4 ranks, half of it to the other node.
  gather.nodes = 2;
  const OpTime time = Priced(SpecOf(gather)).times.front();
  EXPECT_NEAR(ToMicroseconds(time.busy[Resource::kRdma]), 1.25, 1e-9);
  gather.nodes = 3;
  EXPECT_THAT(Refused(gather), ElementsAre("collective.node_count"));
}

TEST_F(KernelTest, ElementwiseNeedsNoTensorUnit) {
  toy_.device.tensor_rates = {};
  using Operation = ElementwiseKernel::Operation;
  const struct {
    Operation operation;
    const char* name;
    double matrices;
  } kCases[] = {
      {Operation::kRope, "rope", 2},
      {Operation::kActivation, "activation", 2},
      {Operation::kGatedActivation, "activation", 3},
      {Operation::kResidual, "residual", 3},
      {Operation::kAdd, "add", 2},
      {Operation::kSampling, "sampling", 1},
      {Operation::kQuantize, "quantize", 2},
      {Operation::kDequantize, "dequantize", 2},
  };
  for (const auto& c : kCases) {
    const KernelEstimate kernel =
        Priced(SpecOf(ElementwiseKernel{c.operation, 100, 50, 0}));
    EXPECT_THAT(kernel.names, ElementsAre(c.name));
    EXPECT_EQ(kernel.ops[0].work.activations().value(),
              c.matrices * 100 * 50 * 2)
        << c.name;
    EXPECT_NEAR(kernel.ridge.value(), 100, 1e-9);  // Of the vector units.
  }
}

TEST_F(KernelTest, FusedOperationsAddWorkAndNoBytes) {
  ElementwiseKernel add{ElementwiseKernel::Operation::kAdd, 100, 50, 0};
  const Op alone = Priced(SpecOf(add)).ops[0];
  add.fused_operations = 3;
  const Op fused = Priced(SpecOf(add)).ops[0];
  EXPECT_EQ(fused.work.activations(), alone.work.activations());
  EXPECT_EQ(fused.work.vector, 4 * alone.work.vector);
}

TEST_F(KernelTest, NamesEveryBrokenRule) {
  EXPECT_THAT(Refused(GemmKernel{0, -1, 2'000'000'000, 0}),
              ElementsAre("gemm.m", "gemm.n", "gemm.k", "gemm.batch_count"));
  EXPECT_THAT(Refused(GemmKernel{1, 1'000'000'000, 1'000'000'000}),
              ElementsAre("gemm.n"));
  EXPECT_THAT(Refused(AttentionKernel{.pass = DecodePass(1, 10),
                                      .attention = LatentAttention{},
                                      .full = true}),
              ::testing::Contains("attention.full"));
  EXPECT_THAT(Refused(ExpertsKernel{0,
                                    0,
                                    {.expert_count = 2,
                                     .experts_per_token = 3,
                                     .expert_intermediate_size = 1},
                                    {}}),
              ElementsAre("moe.token_count", "moe.hidden_size",
                          "moe.experts.experts_per_token_count"));
  EXPECT_THAT(Refused(ExpertsKernel{1,
                                    1,
                                    {.expert_count = 2,
                                     .experts_per_token = 1,
                                     .expert_intermediate_size = 1},
                                    {ExpertRouting::Kind::kHistogram, {1}}}),
              ElementsAre("moe.routing.expert_shares"));
  EXPECT_THAT(
      Refused(CollectiveKernel{CollectiveKernel::Operation::kAllGather, 0, 9}),
      ElementsAre("collective.message_bytes", "collective.rank_count"));
  EXPECT_THAT(
      Refused(ElementwiseKernel{ElementwiseKernel::Operation::kAdd, 0, 0, -1}),
      ElementsAre("elementwise.row_count", "elementwise.column_count",
                  "elementwise.fused_operation_count"));
}

TEST_F(KernelTest, LargestSizesStayFinite) {
  const KernelWork kLargest[] = {
      GemmKernel{1'000'000'000, 1'000'000, 1'000'000, 1'000'000'000},
      ElementwiseKernel{ElementwiseKernel::Operation::kNorm, 1'000'000,
                        1'000'000'000, 1000},
      CollectiveKernel{CollectiveKernel::Operation::kAllReduce, 1e15, 8},
      ExpertsKernel{10'000'000,
                    1 << 24,
                    {.expert_count = 65536,
                     .experts_per_token = 65536,
                     .expert_intermediate_size = 256},
                    {}},
  };
  for (const KernelWork& work : kLargest) {
    const KernelEstimate kernel = Priced(SpecOf(work));
    EXPECT_TRUE(std::isfinite(kernel.estimate.value())) << work.index();
    EXPECT_GT(kernel.floor.value(), 0) << work.index();
    EXPECT_LE(kernel.floor, kernel.estimate) << work.index();
  }
}

}  // namespace
}  // namespace mansard::model
