// Totals of whole passes on the published shapes; every op's counts are checked
// by ops/op_test and tests/reference.

#include "model/lower/lower.h"

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::Sum;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::Totals;
using mansard::testing::ToyHardware;

class Llama8b : public ::testing::Test {
 protected:
  void SetUp() override {
    auto shipped = LoadShippedData();
    ASSERT_TRUE(shipped.ok()) << shipped.status();
    graph_ = shipped->graphs.at("llama-3.1-8b");
  }
  std::shared_ptr<const ModelGraph> graph_;
};

// 8,030,261,248 published parameters, less the embedding table of 128256 x
// 4096, of which one row is gathered.
TEST_F(Llama8b, DecodeReadsAllWeightsButTheEmbeddingTable) {
  const Totals sums = Sum(BuildTarget(TargetOn(graph_, ToyHardware().Build())),
                          DecodePass(1, 1024));
  EXPECT_EQ(sums.weights, 2.0 * (8030261248 - 128256 * 4096) + 2 * 4096);
  EXPECT_EQ(sums.kv_read, 134217728);  // 32 layers x 4096 B x 1024.
  EXPECT_EQ(sums.kv_write, 131072);
}

TEST_F(Llama8b, MoreKvHeadsWidenProjectionsAndCache) {
  TargetSpec spec = TargetOn(graph_, ToyHardware().Build());
  spec.kv_heads = 32;
  const Totals sums = Sum(BuildTarget(spec), DecodePass(1, 1024));
  // 24 more heads of 128, keys and values, 4096 wide, in 32 layers.
  EXPECT_EQ(sums.weights, 2.0 * (8030261248 - 128256 * 4096) + 2 * 4096 +
                              2.0 * 32 * 2 * 24 * 128 * 4096);
  EXPECT_EQ(sums.kv_read, 536870912);
}

// 2 operations a weight of the GEMMs and token, and causal attention.
TEST_F(Llama8b, PrefillFlops) {
  const Totals sums = Sum(BuildTarget(TargetOn(graph_, ToyHardware().Build())),
                          PrefillPass(1, 2048));
  const double layer = 4096.0 * 6144 + 4096.0 * 4096 + 3.0 * 4096 * 14336;
  const double gemms = 2.0 * 2048 * 32 * layer + 2.0 * 128256 * 4096;
  const double attention = 32 * 4.0 * 32 * 128 * (2048.0 * 2049 / 2);
  EXPECT_EQ(sums.flops, gemms + attention);
}

TEST(Lower, EveryResidualIsAddedOnceFusedOrNot) {
  const auto graph = BuildGraph(TinyGraph());  // Two layers.
  for (bool fused : {true, false}) {
    ToyHardware toy;
    toy.stack.fusion.residual_into_norm = fused;
    const OpList ops = EstimatePass(BuildTarget(TargetOn(graph, toy.Build())),
                                    DecodePass(1, 10))
                           .ops;
    EXPECT_EQ(Count(ops, Part::kInputNorm), 1);
    EXPECT_EQ(Count(ops, Part::kAttentionNorm), 1);
    EXPECT_EQ(Count(ops, Part::kFeedForwardNorm), 2);
    EXPECT_EQ(Count(ops, Part::kFinalNorm), 1);
    EXPECT_EQ(Count(ops, Part::kAttentionResidual), fused ? 0 : 2);
    EXPECT_EQ(Count(ops, Part::kFeedForwardResidual), fused ? 0 : 2);
  }
}

TEST(Lower, OneAttentionOpAGroupAndOneGemmForAll) {
  const OpList ops =
      EstimatePass(
          BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build())),
          BuildPass({{Role::kPrefill, 1, 7, 0},
                     {Role::kDecode, 3, 1, 9},
                     {Role::kDecode, 2, 2, 4}}))
          .ops;
  EXPECT_EQ(Count(ops, Part::kAttention), 3 * 2);
  EXPECT_EQ(Count(ops, Part::kQkvProj), 2);
  for (const Op& op : ops) {
    if (op.part == Part::kQkvProj) {
      EXPECT_EQ(std::get<GemmShape>(op.shape).m, 7 + 3 + 4);
    }
    if (op.part == Part::kHead) {
      EXPECT_EQ(std::get<GemmShape>(op.shape).m, 1 + 3 + 4);
    }
  }
}

TEST(Lower, LowPrecisionInputsAreQuantisedFirst) {
  TargetSpec spec = TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build());
  spec.weights = spec.activations = Format::kFp8E4m3;
  const OpList ops = EstimatePass(BuildTarget(spec), DecodePass(5, 10)).ops;
  for (Part part : {Part::kAttentionQuantize, Part::kOutputQuantize,
                    Part::kFeedForwardQuantize, Part::kDownQuantize}) {
    EXPECT_EQ(Count(ops, part), 2);
  }
  for (const Op& op : ops) {
    if (op.kind != OpKind::kGemm) continue;
    const GemmShape& shape = std::get<GemmShape>(op.shape);
    const bool head = op.part == Part::kHead;
    EXPECT_EQ(shape.weights, head ? Format::kBf16 : Format::kFp8E4m3);
    EXPECT_EQ(shape.compute, head ? Format::kBf16 : Format::kFp8E4m3);
    EXPECT_EQ(shape.output, Format::kBf16);
  }
}

TEST(Lower, WindowLayersAreAKindOfTheirOwn) {
  ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "window";
  GroupedOf(spec.layer_kinds[1]).sliding_window = 16;
  spec.layer_kind_indexes = {1, 0, 1, 1};
  const auto graph = BuildGraph(spec);
  const OpList ops =
      EstimatePass(BuildTarget(TargetOn(graph, ToyHardware().Build())),
                   DecodePass(1, 100))
          .ops;
  double kv_read = 0;
  for (const Op& op : ops) {
    kv_read += op.repeat * op.work.kv_read.value();
    // The first layer is a window layer: its norm stands at the input.
    if (op.part == Part::kAttentionNorm) {
      EXPECT_EQ(op.repeat, op.layer_kind == 1 ? 2 : 1);
    }
  }
  EXPECT_EQ(kv_read, (100 + 3 * 16) * 2.0 * 2 * 6 * 2);
}

TEST(Lower, ChunkedLayersAreBilledAtTheirChunk) {
  ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "chunk";
  GroupedOf(spec.layer_kinds[1]).chunk = 64;
  spec.layer_kind_indexes = {1, 1, 1, 0};
  const Totals sums =
      Sum(BuildTarget(TargetOn(BuildGraph(spec), ToyHardware().Build())),
          DecodePass(1, 1000));
  EXPECT_EQ(sums.kv_read, (1000 + 3 * 64) * 2.0 * 2 * 6 * 2);
}

TEST(Lower, ParallelLayersHaveOneNormOneSumAndOneAllReduce) {
  ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds[0].parallel = true;
  const OpList ops =
      EstimatePass(
          BuildTarget(TargetOn(BuildGraph(spec), ToyHardware().Build(), 2)),
          DecodePass(1, 10))
          .ops;
  EXPECT_EQ(Count(ops, Part::kInputNorm), 1);
  EXPECT_EQ(Count(ops, Part::kAttentionNorm), 1);
  EXPECT_EQ(Count(ops, Part::kFeedForwardNorm), 0);
  EXPECT_EQ(Count(ops, Part::kParallelSum), 2);
  EXPECT_EQ(Count(ops, Part::kAttentionAllReduce), 0);
  EXPECT_EQ(Count(ops, Part::kFeedForwardAllReduce), 2);
}

}  // namespace
}  // namespace mansard::model
