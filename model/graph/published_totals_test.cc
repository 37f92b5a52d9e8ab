// Graphs of published transformers, one for each kind of block, against the
// totals that an independent counter or the publisher gives.
#include "gtest/gtest.h"
#include "model/graph/published_specs.h"

namespace mansard::model {
namespace {

// DeepSeek-V4-Flash: two layers with a window alone, then compression by 4 and
// by 128 in turn; the first three layers choose experts by token id.
TEST(PublishedTotals, DeepSeekV4Flash) {
  ModelGraphSpec spec = Sized(4096, 129280);
  CompressedAttention attention{.query_heads = 64,
                                .head_size = 512,
                                .rope_head_size = 64,
                                .query_lora_rank = 1024,
                                .output_groups = 8,
                                .output_lora_rank = 1024,
                                .sliding_window = 128};
  const MixtureOfExperts experts{.expert_count = 256,
                                 .experts_per_token = 6,
                                 .expert_intermediate_size = 2048,
                                 .shared_intermediate_size = 2048};
  LayerKind window{
      .name = "window", .attention = attention, .feed_forward = experts};
  attention.ratio = 128;
  LayerKind heavy{
      .name = "heavy", .attention = attention, .feed_forward = experts};
  attention.ratio = 4;
  attention.overlap = true;
  attention.indexer = SparseIndexer{64, 128, 512};
  LayerKind sparse{
      .name = "sparse", .attention = attention, .feed_forward = experts};
  spec.layer_kinds = {window, sparse, heavy};
  spec.layer_kind_indexes = Layers(1, "00");
  for (int i = 0; i < 20; ++i) {
    spec.layer_kind_indexes.push_back(1);
    spec.layer_kind_indexes.push_back(2);
  }
  spec.layer_kind_indexes.push_back(1);
  spec.residual_streams = 4;
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 284'332'230'231);
  EXPECT_EQ(graph.ActiveParameterCount(), 13'799'622'231);
  EXPECT_EQ(graph.ActiveParameterCountWithoutEmbeddings(), 12'740'560'471);
  // 21 layers of 512 x 2 bytes every 4 tokens, 20 every 128.
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 5536);
  EXPECT_EQ(graph.UnboundedKvBytesPerToken(Format::kBf16).value(), 5536);
  EXPECT_EQ(graph.IndexerBytesPerToken(Format::kBf16).value(), 1344);
}

TEST(PublishedTotals, DeepSeekV32) {
  ModelGraphSpec spec = Sized(7168, 129280);
  const LatentAttention attention{.query_heads = 128,
                                  .kv_lora_rank = 512,
                                  .query_lora_rank = 1536,
                                  .nope_head_size = 128,
                                  .rope_head_size = 64,
                                  .value_head_size = 128,
                                  .indexer = SparseIndexer{64, 128, 2048}};
  spec.layer_kinds = {
      {.name = "dense",
       .attention = attention,
       .feed_forward = DenseFeedForward{18432}},
      {.name = "moe",
       .attention = attention,
       .feed_forward = MixtureOfExperts{.expert_count = 256,
                                        .experts_per_token = 8,
                                        .expert_intermediate_size = 2048,
                                        .shared_intermediate_size = 2048}}};
  spec.layer_kind_indexes = Layers(58, "1");
  spec.layer_kind_indexes.insert(spec.layer_kind_indexes.begin(), {0, 0, 0});
  spec.mtp = {.modules = 1, .layer_kind_indexes = {1}};
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 671'877'929'216);
  EXPECT_EQ(graph.ActiveParameterCount(), 38'403'807'488);
  EXPECT_EQ(graph.MtpParameterCount(), 11'624'027'392);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 70272);
  EXPECT_EQ(graph.IndexerBytesPerToken(Format::kBf16).value(), 15616);

  // Where only the first layer has an indexer of its own, the others save it:
  // queries 1536 x 64 x 128, key 7168 x 128, its norm 2 x 128, weights
  // 7168 x 64.
  spec.layer_kinds.push_back(spec.layer_kinds[1]);
  spec.layer_kinds[2].name = "follows";
  std::get<LatentAttention>(*spec.layer_kinds[2].attention).indexer =
      SparseIndexer{.top_k = 2048};
  spec.layer_kind_indexes[60] = 2;
  const ModelGraph follows = Build(spec);
  EXPECT_EQ(graph.ParameterCount() - follows.ParameterCount(),
            1536 * 64 * 128 + 7168 * 128 + 256 + 7168 * 64);
  EXPECT_EQ(follows.IndexerBytesPerToken(Format::kBf16).value(), 15616 - 256);
}

// Keys that are values in every sixth layer, experts beside a dense
// feed-forward, norms before and after. Scales: one a layer, one for each
// hidden element and expert.
TEST(PublishedTotals, Gemma4) {
  ModelGraphSpec spec = Sized(2816, 262144);
  const MixtureOfExperts experts{.expert_count = 128,
                                 .experts_per_token = 8,
                                 .expert_intermediate_size = 704,
                                 .shared_intermediate_size = 2112,
                                 .separate_norms = true};
  LayerKind window{
      .name = "window",
      .attention = GroupedQueryAttention{.query_heads = 16,
                                         .kv_heads = 8,
                                         .head_size = 256,
                                         .qk_norm = QkNorm::kPerHead,
                                         .sliding_window = 1024},
      .feed_forward = experts,
      .norms = NormPlacement::kBoth,
      .extra_parameters = 1 + 2816 + 128};
  LayerKind full = window;
  full.name = "full";
  full.attention = GroupedQueryAttention{.query_heads = 16,
                                         .kv_heads = 2,
                                         .head_size = 512,
                                         .nope_head_size = 384,
                                         .qk_norm = QkNorm::kPerHead,
                                         .value_from_key = true};
  spec.layer_kinds = {window, full};
  spec.layer_kind_indexes = Layers(5, "000001");
  spec.tied_embeddings = true;
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 25'233'141'790);
  EXPECT_EQ(graph.ActiveParameterCount(), 3'822'530'590);
  EXPECT_EQ(graph.ActiveParameterCountWithoutEmbeddings(), 3'084'333'086);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 225'280);
  EXPECT_EQ(graph.UnboundedKvBytesPerToken(Format::kBf16).value(), 20'480);
}

// Eight cross-attention layers with two scalar gates each; eight more rows in
// the embedding. The counter leaves those rows in when it takes the tables
// away: 8,724,518,928.
TEST(PublishedTotals, Llama32Vision) {
  ModelGraphSpec spec = Sized(4096, 128256);
  spec.extra_embedding_rows = 8;
  spec.layer_kinds = {
      {.name = "self",
       .attention = GroupedQueryAttention{32, 8, 128},
       .feed_forward = DenseFeedForward{14336}},
      {.name = "cross",
       .attention = CrossAttention{32, 8, 128, QkNorm::kPerHead},
       .feed_forward = DenseFeedForward{14336},
       .extra_parameters = 2}};
  spec.layer_kind_indexes = Layers(8, "00010");
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 9'775'192'080);
  EXPECT_EQ(graph.ActiveParameterCountWithoutEmbeddings(),
            8'724'518'928 - 8 * 4096);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 131072);
}

TEST(PublishedTotals, GptOss) {
  ModelGraphSpec spec = Sized(2880, 201088);
  const MixtureOfExperts experts{.expert_count = 32,
                                 .experts_per_token = 4,
                                 .expert_intermediate_size = 2880,
                                 .router_bias = true,
                                 .expert_bias = true};
  GroupedQueryAttention attention{.query_heads = 64,
                                  .kv_heads = 8,
                                  .head_size = 64,
                                  .qkv_bias = true,
                                  .output_bias = true,
                                  .sinks = true};
  LayerKind full{
      .name = "full", .attention = attention, .feed_forward = experts};
  attention.sliding_window = 128;
  LayerKind window{
      .name = "window", .attention = attention, .feed_forward = experts};
  spec.layer_kinds = {window, full};
  spec.layer_kind_indexes = Layers(12, "01");
  const ModelGraph graph = Build(spec);
  EXPECT_EQ(graph.ParameterCount(), 20'914'757'184);
  EXPECT_EQ(graph.ActiveParameterCount(), 4'187'440'704);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 49152);
  EXPECT_EQ(graph.UnboundedKvBytesPerToken(Format::kBf16).value(), 24576);
}

// OLMo 2 7B: norms after, weights for all heads' queries and keys.
TEST(PublishedTotals, Olmo2) {
  ModelGraphSpec olmo = Sized(4096, 100352);
  olmo.layer_kinds = {
      {.name = "layer",
       .attention = GroupedQueryAttention{.query_heads = 32,
                                          .kv_heads = 32,
                                          .head_size = 128,
                                          .qk_norm = QkNorm::kAllHeads},
       .feed_forward = DenseFeedForward{11008},
       .norms = NormPlacement::kAfter}};
  olmo.layer_kind_indexes = Layers(32, "0");
  EXPECT_EQ(Build(olmo).ParameterCount(), 7'298'617'344);
}

// Phi-2: one LayerNorm for both halves, biases everywhere.
TEST(PublishedTotals, Phi2) {
  ModelGraphSpec phi = Sized(2560, 51200);
  phi.layer_kinds = {{.name = "layer",
                      .attention = GroupedQueryAttention{.query_heads = 32,
                                                         .kv_heads = 32,
                                                         .head_size = 80,
                                                         .qkv_bias = true,
                                                         .output_bias = true},
                      .feed_forward = DenseFeedForward{10240, false, true},
                      .parallel = true}};
  phi.layer_kind_indexes = Layers(32, "0");
  phi.norm_bias = true;
  phi.head_bias = true;
  EXPECT_EQ(Build(phi).ParameterCount(), 2'779'683'840);
  EXPECT_EQ(Build(phi).ActiveParameterCountWithoutEmbeddings(), 2'517'539'840);
}

// GPT-2: learned positions, tied.
TEST(PublishedTotals, Gpt2) {
  ModelGraphSpec gpt = Sized(768, 50257);
  gpt.layer_kinds = {{.name = "layer",
                      .attention = GroupedQueryAttention{.query_heads = 12,
                                                         .kv_heads = 12,
                                                         .head_size = 64,
                                                         .qkv_bias = true,
                                                         .output_bias = true},
                      .feed_forward = DenseFeedForward{3072, false, true}}};
  gpt.layer_kind_indexes = Layers(12, "0");
  gpt.norm_bias = true;
  gpt.tied_embeddings = true;
  gpt.position_rows = 1024;
  EXPECT_EQ(Build(gpt).ParameterCount(), 124'439'808);
  EXPECT_EQ(Build(gpt).ActiveParameterCountWithoutEmbeddings(), 85'842'432);
}

// GPT-NeoX 20B: parallel with two norms.
TEST(PublishedTotals, GptNeoX) {
  ModelGraphSpec neox = Sized(6144, 50432);
  neox.layer_kinds = {{.name = "layer",
                       .attention = GroupedQueryAttention{.query_heads = 64,
                                                          .kv_heads = 64,
                                                          .head_size = 96,
                                                          .qkv_bias = true,
                                                          .output_bias = true},
                       .feed_forward = DenseFeedForward{24576, false, true},
                       .parallel = true,
                       .parallel_norms = true}};
  neox.layer_kind_indexes = Layers(44, "0");
  neox.norm_bias = true;
  EXPECT_EQ(Build(neox).ParameterCount(), 20'554'567'680);
}

// BLOOM: a norm after the embedding.
TEST(PublishedTotals, Bloom) {
  ModelGraphSpec bloom = Sized(14336, 250880);
  bloom.layer_kinds = {{.name = "layer",
                        .attention = GroupedQueryAttention{.query_heads = 112,
                                                           .kv_heads = 112,
                                                           .head_size = 128,
                                                           .qkv_bias = true,
                                                           .output_bias = true},
                        .feed_forward = DenseFeedForward{57344, false, true}}};
  bloom.layer_kind_indexes = Layers(70, "0");
  bloom.norm_bias = true;
  bloom.tied_embeddings = true;
  bloom.embedding_norm = true;
  EXPECT_EQ(Build(bloom).ParameterCount(), 176'247'271'424);
}

TEST(PublishedTotals, MiMoDrafts) {
  ModelGraphSpec mimo = Sized(4096, 151680);
  mimo.layer_kinds = {{.name = "layer",
                       .attention = GroupedQueryAttention{.query_heads = 32,
                                                          .kv_heads = 8,
                                                          .head_size = 128,
                                                          .qkv_bias = true},
                       .feed_forward = DenseFeedForward{11008}}};
  mimo.layer_kind_indexes = Layers(36, "0");
  mimo.mtp = {.modules = 1, .layer_kind_indexes = {0}};
  EXPECT_EQ(Build(mimo).ParameterCount(), 7'622'619'136);
  EXPECT_EQ(Build(mimo).MtpParameterCount(), 210'790'400);
}

TEST(PublishedTotals, MiniMaxM2Drafts) {
  ModelGraphSpec minimax = Sized(3072, 200064);
  minimax.layer_kinds = {
      {.name = "layer",
       .attention = GroupedQueryAttention{.query_heads = 48,
                                          .kv_heads = 8,
                                          .head_size = 128,
                                          .qk_norm = QkNorm::kAllHeads},
       .feed_forward = MixtureOfExperts{.expert_count = 256,
                                        .experts_per_token = 8,
                                        .expert_intermediate_size = 1536}}};
  minimax.layer_kind_indexes = Layers(62, "0");
  minimax.mtp = {.modules = 3, .layer_kind_indexes = {0}};
  EXPECT_EQ(Build(minimax).ParameterCount(), 228'689'748'992);
  EXPECT_EQ(Build(minimax).ActiveParameterCount(), 11'030'537'216);
  EXPECT_EQ(Build(minimax).MtpParameterCount(), 11'062'806'528);
}

// GLM-4.5-Air. The counter's 2,375,059,584 has the 128 correction biases of
// the module's router in it, which count nowhere else.
TEST(PublishedTotals, Glm45AirDrafts) {
  ModelGraphSpec glm = Sized(4096, 151552);
  const GroupedQueryAttention attention{.query_heads = 96,
                                        .kv_heads = 8,
                                        .head_size = 128,
                                        .nope_head_size = 64,
                                        .qkv_bias = true};
  glm.layer_kinds = {
      {.name = "dense",
       .attention = attention,
       .feed_forward = DenseFeedForward{10944}},
      {.name = "moe",
       .attention = attention,
       .feed_forward = MixtureOfExperts{.expert_count = 128,
                                        .experts_per_token = 8,
                                        .expert_intermediate_size = 1408,
                                        .shared_intermediate_size = 1408}}};
  glm.layer_kind_indexes = Layers(45, "1");
  glm.layer_kind_indexes.insert(glm.layer_kind_indexes.begin(), 0);
  glm.mtp = {.modules = 1, .layer_kind_indexes = {1}};
  EXPECT_EQ(Build(glm).ParameterCount(), 106'852'245'504);
  EXPECT_EQ(Build(glm).ActiveParameterCount(), 13'424'123'904);
  EXPECT_EQ(Build(glm).MtpParameterCount(), 2'375'059'584 - 128);
}

}  // namespace
}  // namespace mansard::model
