// The way through a layer and around the layers: which ops stand there, how
// often, and what published shapes amount to. Counts by hand; every op's work
// is checked by tests/reference.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "model/lower/lower.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::DecodePass;
using mansard::testing::Find;
using mansard::testing::TargetOn;
using mansard::testing::TinyFlowsGraph;
using mansard::testing::TinyGraph;
using mansard::testing::TinyLatentMoeGraph;
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;

OpList OpsOf(const ModelGraphSpec& spec, int tensor = 1, bool fused = true,
             const ForwardPass& pass = DecodePass(2, 10)) {
  ToyHardware toy;
  toy.stack.fusion.residual_into_norm = fused;
  return EstimatePass(
             BuildTarget(TargetOn(BuildGraph(spec), toy.Build(), tensor)), pass)
      .ops;
}

// The parts of one layer, and what stands around it, in order.
std::vector<std::string> Names(const OpList& ops) {
  std::vector<std::string> names;
  for (const Op& op : ops) names.emplace_back(PartName(op.part));
  return names;
}

ModelGraphSpec WithNorms(NormPlacement norms, int layers) {
  ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds[0].norms = norms;
  spec.layer_kind_indexes.assign(static_cast<size_t>(layers), 0);
  return spec;
}

// Three layers.
TEST(Flow, NormsStandWhereTheModelHasThem) {
  const struct {
    NormPlacement norms;
    int input, attention, attention_post, ffn, ffn_post;
    // Unfused: adds of their own.
    int attention_residual, ffn_residual;
  } kCases[] = {
      {NormPlacement::kBefore, 1, 2, 0, 3, 0, 3, 3},
      {NormPlacement::kAfter, 0, 0, 3, 0, 3, 3, 3},
      {NormPlacement::kBoth, 1, 2, 3, 3, 3, 3, 3},
  };
  for (const auto& c : kCases) {
    for (bool fused : {true, false}) {
      const OpList ops = OpsOf(WithNorms(c.norms, 3), 1, fused);
      EXPECT_EQ(Count(ops, Part::kInputNorm), c.input);
      EXPECT_EQ(Count(ops, Part::kAttentionNorm), c.attention);
      EXPECT_EQ(Count(ops, Part::kAttentionPostNorm), c.attention_post);
      EXPECT_EQ(Count(ops, Part::kFeedForwardNorm), c.ffn);
      EXPECT_EQ(Count(ops, Part::kFeedForwardPostNorm), c.ffn_post);
      EXPECT_EQ(Count(ops, Part::kFinalNorm), 1);
      EXPECT_EQ(Count(ops, Part::kAttentionResidual),
                fused ? 0 : c.attention_residual);
      EXPECT_EQ(Count(ops, Part::kFeedForwardResidual),
                fused ? 0 : c.ffn_residual);
    }
  }
}

// Of hidden size 16, two tokens, two bytes.
TEST(Flow, NormsMoveWhatTheyReadAndWrite) {
  const double matrix = 2 * 16 * 2;
  const OpList after = OpsOf(WithNorms(NormPlacement::kAfter, 2));
  const Op& post = Find(after, Part::kAttentionPostNorm);
  EXPECT_EQ(post.work.activations_in.value(), 2 * matrix);
  EXPECT_EQ(post.work.activations_out.value(), matrix);
  // Nothing is left to add.
  EXPECT_EQ(Find(after, Part::kFinalNorm).work.activations_in.value(), matrix);
  const OpList both = OpsOf(WithNorms(NormPlacement::kBoth, 2));
  EXPECT_EQ(Find(both, Part::kAttentionPostNorm).work.activations_in.value(),
            matrix);
  EXPECT_EQ(Find(both, Part::kFeedForwardNorm).work.activations_in.value(),
            2 * matrix);
  ModelGraphSpec biased = WithNorms(NormPlacement::kBefore, 2);
  biased.norm_bias = true;
  EXPECT_EQ(Find(OpsOf(biased), Part::kFeedForwardNorm).held.value(),
            2 * 16 * 2);
}

TEST(Flow, RanksAddUpBeforeTheBranchsNorm) {
  ModelGraphSpec spec = WithNorms(NormPlacement::kBoth, 1);
  EXPECT_EQ(Names(OpsOf(spec, 2)),
            (std::vector<std::string>{"embedding",
                                      "embedding_all_reduce",
                                      "input_norm",
                                      "qkv_proj",
                                      "rope",
                                      "attention",
                                      "o_proj",
                                      "attention_all_reduce",
                                      "attention_post_norm",
                                      "ffn_norm",
                                      "up_proj",
                                      "activation",
                                      "down_proj",
                                      "ffn_all_reduce",
                                      "ffn_post_norm",
                                      "final_norm",
                                      "lm_head",
                                      "logits_all_gather",
                                      "sampling",
                                      "host"}));
}

// A mixer, then experts that work on latent vectors: one norm each. The norm on
// the way back needs the ranks' sum, so the shared experts' is another.
TEST(Flow, LayersOfOnePartHaveOneNorm) {
  ModelGraphSpec spec = TinyLatentMoeGraph();
  EXPECT_EQ(Names(OpsOf(spec, 2)),
            (std::vector<std::string>{"embedding",
                                      "embedding_all_reduce",
                                      "input_norm",
                                      "attention_norm",
                                      "qkv_proj",
                                      "rope",
                                      "attention",
                                      "o_proj",
                                      "attention_all_reduce",
                                      "ffn_norm",
                                      "router",
                                      "top_k",
                                      "latent_down",
                                      "expert_up",
                                      "expert_activation",
                                      "expert_down",
                                      "combine",
                                      "ffn_all_reduce",
                                      "latent_norm",
                                      "latent_up",
                                      "shared_up",
                                      "shared_activation",
                                      "shared_down",
                                      "shared_gate_proj",
                                      "shared_gate",
                                      "ffn_all_reduce",
                                      "shared_sum",
                                      "final_norm",
                                      "lm_head",
                                      "logits_all_gather",
                                      "sampling",
                                      "host"}));
  const OpList ops = OpsOf(spec, 2);
  // Two tokens, two bytes: of the latent width 8, then of the hidden size 16.
  std::vector<double> messages;
  for (const Op& op : ops) {
    if (op.part == Part::kFeedForwardAllReduce) {
      messages.push_back(op.work.message.value());
    }
  }
  EXPECT_EQ(messages, (std::vector<double>{2 * 8 * 2, 2 * 16 * 2}));
  const auto& up = std::get<GroupedGemmShape>(Find(ops, Part::kExpertUp).shape);
  EXPECT_EQ(up.k, 8);
  EXPECT_EQ(up.n, 2 * 8 / 2);
  // Without the norm the projection is of each rank's sum: one all-reduce.
  std::get<MixtureOfExperts>(spec.layer_kinds[1].feed_forward).latent_norm =
      false;
  EXPECT_EQ(Count(OpsOf(spec, 2), Part::kFeedForwardAllReduce), 2);
}

TEST(Flow, SharedExpertsHaveTheirOwnGating) {
  ModelGraphSpec spec = TinyMoeGraph();
  auto& experts = std::get<MixtureOfExperts>(spec.layer_kinds[0].feed_forward);
  experts.shared_gated = false;
  const OpList ops = OpsOf(spec);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kSharedUp).shape).n, 12);
  EXPECT_EQ(std::get<GroupedGemmShape>(Find(ops, Part::kExpertUp).shape).n,
            2 * 8);
}

// DeepSeek-V4-Flash: 43 layers, hidden size 4096, four streams. Each layer
// weighs the streams twice with 24 x 16384 weights, 24 biases, three scales.
TEST(Flow, StreamsAreWeighedAndMixedTwiceALayer) {
  ModelGraphSpec spec = TinyGraph();
  spec.hidden_size = 4096;
  spec.residual_streams = 4;
  spec.layer_kind_indexes.assign(43, 0);
  const OpList ops = OpsOf(spec, 2);
  double weights = 0;
  for (const Op& op : ops) {
    const bool streams = op.kind == OpKind::kStreamMix ||
                         op.part == Part::kMixerStreamWeights ||
                         op.part == Part::kFeedForwardStreamWeights ||
                         op.part == Part::kFinalStreamWeights;
    if (streams) weights += op.repeat * op.held.value();
  }
  EXPECT_EQ(weights, 4.0 * (43 * 2 * (24 * 16384 + 24 + 3) + 4 * 16384 + 5));
  EXPECT_EQ(Count(ops, Part::kMixerStreamMerge), 43);
  EXPECT_EQ(Count(ops, Part::kFeedForwardStreamMerge), 43);
  // No norm adds to a residual that is not there.
  EXPECT_EQ(Count(ops, Part::kInputNorm), 0);
  EXPECT_EQ(Count(ops, Part::kAttentionNorm), 43);
  // Two tokens: four streams and the branch in, with 4 + 16 weights.
  const Op& merge = Find(ops, Part::kMixerStreamMerge);
  EXPECT_EQ(merge.work.activations_in.value(), 2.0 * (5 * 4096 * 2 + 20 * 4));
  EXPECT_EQ(merge.work.activations_out.value(), 2.0 * 4 * 4096 * 2);
  EXPECT_EQ(Find(ops, Part::kMixerStreamWeights).work.tensor.value(),
            2.0 * 2 * 24 * 16384);
}

// The residual is complete before a layer's own input is gated by it.
TEST(Flow, LayerInputsComeAfterTheResidual) {
  ModelGraphSpec spec = WithNorms(NormPlacement::kBoth, 2);
  spec.layer_input_size = 3;
  spec.layer_input_rows = 40;
  const OpList ops = OpsOf(spec);
  EXPECT_EQ(Find(ops, Part::kFeedForwardPostNorm).work.activations_in.value(),
            2.0 * 2 * 16 * 2);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kLayerInputProj).shape).n,
            2 * 3);
  EXPECT_EQ(Find(ops, Part::kLayerInputEmbedding).held.value(), 40 * 2 * 3 * 2);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kLayerGateProj).shape).n, 3);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kLayerProj).shape).k, 3);
  EXPECT_EQ(Count(ops, Part::kLayerPostNorm), 2);
  // Unfused, every add has an op: two of attention, two of feed-forwards, and
  // those of the layers' inputs, by the next norm.
  const OpList unfused = OpsOf(spec, 1, false);
  EXPECT_EQ(Count(unfused, Part::kAttentionResidual), 2);
  EXPECT_EQ(Count(unfused, Part::kFeedForwardResidual), 2 + 2);
}

// OPT-350M: tables of 512, a position table of the hidden size 1024, no final
// norm, and projections up and down.
TEST(Flow, TablesMayHaveAWidthOfTheirOwn) {
  ModelGraphSpec spec = TinyGraph();
  spec.hidden_size = 1024;
  spec.embedding_size = 512;
  spec.position_rows = 2050;
  spec.vocabulary_size = 50272;
  spec.final_norm = false;
  spec.tied_embeddings = true;
  const OpList ops = OpsOf(spec);
  EXPECT_EQ(Find(ops, Part::kEmbedding).held.value(), 0);
  EXPECT_EQ(Find(ops, Part::kEmbedding).work.weights.value(), 2 * 512 * 2);
  EXPECT_EQ(Find(ops, Part::kPositionEmbedding).held.value(), 2050 * 1024 * 2);
  EXPECT_EQ(Find(ops, Part::kEmbeddingProj).held.value(), 512 * 1024 * 2);
  EXPECT_EQ(Find(ops, Part::kHeadProj).held.value(), 512 * 1024 * 2);
  EXPECT_EQ(Find(ops, Part::kHead).held.value(), 50272 * 512 * 2);
  EXPECT_EQ(Count(ops, Part::kFinalNorm), 0);
  EXPECT_EQ(Count(ops, Part::kFeedForwardResidual), 1);
}

// Weights that no op reads are held all the same.
TEST(Flow, SkippedLayersAreHeld) {
  ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "cross";
  spec.layer_kinds[1].attention =
      CrossAttention{.query_heads = 4, .kv_heads = 2, .head_size = 6};
  spec.layer_kind_indexes = {1, 0, 1};
  const auto held = [](const OpList& ops) {
    double sum = 0;
    for (const Op& op : ops) sum += op.repeat * op.held.value();
    return sum;
  };
  const OpList text = OpsOf(spec);
  for (const Op& op : text) EXPECT_NE(op.layer_kind, 1);
  // The first layer that runs is the second one; its norm is the input's.
  EXPECT_EQ(Count(text, Part::kInputNorm), 1);
  EXPECT_EQ(Count(text, Part::kAttentionNorm), 0);
  const OpList images =
      OpsOf(spec, 1, true,
            mansard::testing::BuildPass({{Role::kDecode, 2, 1, 9, 20}}));
  EXPECT_EQ(Count(images, Part::kAttentionNorm), 2);
  EXPECT_EQ(held(text), held(images));
}

TEST(Flow, EveryKindOfFlowInOneGraph) {
  const OpList ops = OpsOf(TinyFlowsGraph(), 2);
  // After: twice. Both. Parallel.
  EXPECT_EQ(Count(ops, Part::kAttentionPostNorm), 3);
  EXPECT_EQ(Count(ops, Part::kFeedForwardPostNorm), 3);
  EXPECT_EQ(Count(ops, Part::kParallelSum), 1);
  EXPECT_EQ(Count(ops, Part::kAttentionAllReduce), 3);
  EXPECT_EQ(Count(ops, Part::kFeedForwardAllReduce), 4);
  EXPECT_EQ(Count(ops, Part::kLayerPostNorm), 4);
}

}  // namespace
}  // namespace mansard::model
