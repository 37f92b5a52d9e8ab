// Graphs of published models with recurrent layers against the totals that an
// independent counter or the publisher gives.
#include <utility>

#include "gtest/gtest.h"
#include "model/graph/published_specs.h"

namespace mansard::model {
namespace {

ModelGraphSpec Qwen3Next() {
  ModelGraphSpec spec = Sized(2048, 151936);
  const MixtureOfExperts experts{.expert_count = 512,
                                 .experts_per_token = 10,
                                 .expert_intermediate_size = 512,
                                 .shared_intermediate_size = 512,
                                 .shared_expert_gate = true};
  spec.layer_kinds = {
      {.name = "linear",
       .feed_forward = experts,
       .recurrent = RecurrentMixer{.rule = StateRule::kGatedDelta,
                                   .heads = 32,
                                   .key_heads = 16,
                                   .key_size = 128,
                                   .value_size = 128,
                                   .conv_kernel = 4,
                                   .output_norm = QkNorm::kPerHead}},
      {.name = "full",
       .attention = GroupedQueryAttention{.query_heads = 16,
                                          .kv_heads = 2,
                                          .head_size = 256,
                                          .qk_norm = QkNorm::kPerHead,
                                          .output_gate = true},
       .feed_forward = experts}};
  spec.layer_kind_indexes = Layers(12, "0001");
  spec.mtp = {.modules = 1, .layer_kind_indexes = {1}};
  return spec;
}

TEST(PublishedHybrids, Qwen3Next) {
  const ModelGraph graph = Build(Qwen3Next());
  EXPECT_EQ(graph.ParameterCount(), 79'674'391'296);
  EXPECT_EQ(graph.ActiveParameterCount(), 3'874'929'408);
  EXPECT_EQ(graph.ActiveParameterCountWithoutEmbeddings(), 3'252'599'552);
  EXPECT_EQ(graph.MtpParameterCount(), 1'650'471'424);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 24576);
  // 36 layers: 32 states of 128 x 128 in fp32, and 3 positions of 8192
  // channels. Where a fourth is kept: 77,856,768.
  EXPECT_EQ(graph.StateBytesPerSequence(Format::kFp32, Format::kBf16).value(),
            77'856'768 - 36 * 8192 * 2);
}

// Every layer is one block; the experts work on a narrower width.
TEST(PublishedHybrids, NemotronSuper) {
  ModelGraphSpec spec = Sized(4096, 131072);
  spec.layer_kinds = {
      {.name = "mamba",
       .recurrent = RecurrentMixer{.rule = StateRule::kMamba2,
                                   .heads = 128,
                                   .key_heads = 8,
                                   .key_size = 128,
                                   .value_size = 64,
                                   .conv_kernel = 4,
                                   .conv_bias = true,
                                   .output_norm = QkNorm::kAllHeads}},
      {.name = "attention",
       .attention =
           GroupedQueryAttention{
               .query_heads = 32, .kv_heads = 2, .head_size = 128}},
      {.name = "moe",
       .feed_forward = MixtureOfExperts{.expert_count = 512,
                                        .experts_per_token = 22,
                                        .expert_intermediate_size = 2688,
                                        .shared_intermediate_size = 5376,
                                        .gated = false,
                                        .shared_gated = false,
                                        .latent_size = 1024}}};
  for (const auto& [index, count] : {std::pair{0, 40}, {1, 8}, {2, 40}}) {
    spec.layer_kind_indexes.insert(spec.layer_kind_indexes.end(),
                                   static_cast<size_t>(count), index);
  }
  spec.mtp = {.modules = 1, .layer_kind_indexes = {1, 2}};
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 120'668'687'360);
  EXPECT_EQ(graph.ActiveParameterCount(), 12'770'216'960);
  EXPECT_EQ(graph.MtpParameterCount(), 2'942'324'736);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 8192);
  EXPECT_EQ(graph.StateBytesPerSequence(Format::kFp32, Format::kBf16).value(),
            171'048'960 - 40 * 10240 * 2);
}

TEST(PublishedHybrids, Jamba) {
  ModelGraphSpec spec = Sized(4096, 65536);
  const RecurrentMixer mamba{.rule = StateRule::kMamba,
                             .heads = 8192,
                             .key_heads = 1,
                             .key_size = 16,
                             .value_size = 1,
                             .conv_kernel = 4,
                             .conv_bias = true,
                             .decay_rank = 256,
                             .inner_norms = true};
  const DenseFeedForward dense{14336};
  const MixtureOfExperts experts{.expert_count = 16,
                                 .experts_per_token = 2,
                                 .expert_intermediate_size = 14336};
  spec.layer_kinds = {
      {.name = "mamba", .feed_forward = dense, .recurrent = mamba},
      {.name = "mamba-moe", .feed_forward = experts, .recurrent = mamba},
      {.name = "attention",
       .attention = GroupedQueryAttention{32, 8, 128},
       .feed_forward = dense}};
  spec.layer_kind_indexes = Layers(4, "01012101");
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 51'570'323'328);
  EXPECT_EQ(graph.ActiveParameterCount(), 12'110'311'296);
  EXPECT_EQ(graph.ActiveParameterCountWithoutEmbeddings(), 11'573'440'384);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 16384);
  EXPECT_EQ(graph.StateBytesPerSequence(Format::kFp32, Format::kBf16).value(),
            16'515'072 - 28 * 8192 * 2);
}

// Attention and state space side by side, behind one norm.
TEST(PublishedHybrids, FalconH1) {
  ModelGraphSpec spec = Sized(3072, 130049);
  spec.layer_kinds = {
      {.name = "both",
       .attention = GroupedQueryAttention{12, 2, 128},
       .feed_forward = DenseFeedForward{12288},
       .recurrent = RecurrentMixer{.rule = StateRule::kMamba2,
                                   .heads = 24,
                                   .key_heads = 1,
                                   .key_size = 256,
                                   .value_size = 128,
                                   .conv_kernel = 4,
                                   .conv_bias = true,
                                   .output_norm = QkNorm::kAllHeads}}};
  spec.layer_kind_indexes = Layers(44, "0");
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 7'585'654'880);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 45056);
  EXPECT_EQ(graph.StateBytesPerSequence(Format::kFp32, Format::kBf16).value(),
            139'673'600 - 44 * 3584 * 2);
}

TEST(PublishedHybrids, MiniMaxM1) {
  ModelGraphSpec spec = Sized(6144, 200064);
  const MixtureOfExperts experts{.expert_count = 32,
                                 .experts_per_token = 2,
                                 .expert_intermediate_size = 9216};
  spec.layer_kinds = {
      {.name = "lightning",
       .feed_forward = experts,
       .recurrent = RecurrentMixer{.rule = StateRule::kDecay,
                                   .heads = 64,
                                   .key_heads = 64,
                                   .key_size = 128,
                                   .value_size = 128,
                                   .output_norm = QkNorm::kAllHeads}},
      {.name = "full",
       .attention = GroupedQueryAttention{64, 8, 128},
       .feed_forward = experts}};
  spec.layer_kind_indexes = Layers(10, "00000001");
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 456'089'655'296);
  EXPECT_EQ(graph.ActiveParameterCount(), 48'403'306'496);
  EXPECT_EQ(graph.StateBytesPerSequence(Format::kFp32, Format::kBf16).value(),
            293'601'280);
}

// Mamba 2 780M: no feed-forward at all.
TEST(PublishedHybrids, Mamba2) {
  ModelGraphSpec mamba = Sized(1536, 50288);
  mamba.layer_kinds = {
      {.name = "layer",
       .recurrent = RecurrentMixer{.rule = StateRule::kMamba2,
                                   .heads = 48,
                                   .key_heads = 1,
                                   .key_size = 128,
                                   .value_size = 64,
                                   .conv_kernel = 4,
                                   .conv_bias = true,
                                   .output_norm = QkNorm::kAllHeads}}};
  mamba.layer_kind_indexes = Layers(48, "0");
  mamba.tied_embeddings = true;
  EXPECT_EQ(Build(mamba).ParameterCount(), 780'161'280);
  EXPECT_EQ(Build(mamba).KvBytesPerToken(Format::kBf16).value(), 0);
}

}  // namespace
}  // namespace mansard::model
