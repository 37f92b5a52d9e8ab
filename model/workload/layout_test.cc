#include "model/workload/layout.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/published_attention.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

Fabric ToyFabric() {
  Violations violations;
  return *Fabric::Create(mansard::testing::ToyHardware().fabric, violations);
}

// 8 KV heads, 64 query heads, width 28672: Llama-3.1-70B's.
std::shared_ptr<const ModelGraph> Graph(int query_heads = 64, int kv_heads = 8,
                                        int64_t width = 28672) {
  ModelGraphSpec spec = mansard::testing::TinyGraph();
  GroupedOf(spec.layer_kinds[0]).query_heads = query_heads;
  GroupedOf(spec.layer_kinds[0]).kv_heads = kv_heads;
  DenseOf(spec.layer_kinds[0]).intermediate_size = width;
  spec.vocabulary_size = 128257;
  return mansard::testing::BuildGraph(spec);
}

std::string ErrorOf(const Parallelism& parallelism, const ModelGraph& graph) {
  Violations violations;
  EXPECT_FALSE(
      Layout::Create(parallelism, graph, ToyFabric(), violations).has_value());
  return std::string(violations.ToStatus().message());
}

TEST(Layout, ShardsHeadsWidthAndVocabulary) {
  struct Case {
    int tensor, kv_heads, want_kv, want_query;
    int64_t want_width, want_vocabulary;
  };
  const Case kCases[] = {
      {0, 8, 8, 64, 28672, 128257}, {1, 8, 8, 64, 28672, 128257},
      {2, 8, 4, 32, 14336, 64129},  {8, 8, 1, 8, 3584, 16033},
      {8, 2, 1, 8, 3584, 16033},  // Each KV head on four ranks.
      {8, 1, 1, 8, 3584, 16033},
  };
  for (const Case& c : kCases) {
    const auto graph = Graph(64, c.kv_heads);
    Violations violations;
    const auto layout =
        Layout::Create({.tensor = c.tensor}, *graph, ToyFabric(), violations);
    ASSERT_TRUE(layout.has_value()) << violations.ToStatus();
    const LayerKind& kind = graph->spec().layer_kinds[0];
    EXPECT_EQ(layout->KvHeadsPerRank(GroupedOf(kind).kv_heads), c.want_kv);
    EXPECT_EQ(layout->QueryHeadsPerRank(*kind.attention), c.want_query);
    EXPECT_EQ(layout->PerRank(DenseOf(kind).intermediate_size), c.want_width);
    EXPECT_EQ(layout->VocabularyPerRank(*graph), c.want_vocabulary);
    EXPECT_EQ(layout->tensor_tier().has_value(), c.tensor > 1);
  }
}

TEST(Layout, NamesTheRuleAndTheLegalSizes) {
  EXPECT_EQ(ErrorOf({.tensor = 3}, *Graph()),
            "tensor_size: is 3, which does not divide the query heads, 64; "
            "allowed: 1, 2, 4, 8");
  EXPECT_EQ(ErrorOf({.tensor = 6}, *Graph(24, 4)),
            "tensor_size: is 6, which neither divides the KV heads, 4, nor is "
            "a multiple of them; allowed: 1, 2, 4, 8");
  EXPECT_EQ(ErrorOf({.tensor = 4}, *Graph(64, 8, 30)),
            "tensor_size: is 4, which does not divide the feed-forward width, "
            "30; allowed: 1, 2");
  EXPECT_THAT(ErrorOf({.tensor = 16}, *Graph()),
              HasSubstr("exceeds the 8 devices of one node of fabric "
                        "\"toy-fabric\"; allowed: 1, 2, 4, 8"));
  EXPECT_THAT(ErrorOf({.tensor = -2}, *Graph()), HasSubstr("is -2"));
}

TEST(Layout, LatentVectorsAreOnEveryRankHeadsAndExpertsAreShared) {
  const auto graph =
      mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  for (int tensor : {1, 2, 4, 8}) {
    Violations violations;
    const auto layout =
        Layout::Create({.tensor = tensor}, *graph, ToyFabric(), violations);
    ASSERT_TRUE(layout.has_value()) << violations.ToStatus();
    const LayerKind& kind = graph->spec().layer_kinds[1];
    EXPECT_EQ(layout->KvElementsPerRank(*kind.attention), 512 + 64);
    EXPECT_EQ(layout->QueryHeadsPerRank(*kind.attention), 128 / tensor);
    EXPECT_EQ(layout->PerRank(2048), 2048 / tensor);
  }
  // Grouped heads: shared until there is one a rank.
  const auto grouped = Graph(64, 4);
  for (const auto& [tensor, heads] :
       {std::pair(1, 4), {2, 2}, {4, 1}, {8, 1}}) {
    Violations violations;
    const auto layout =
        Layout::Create({.tensor = tensor}, *grouped, ToyFabric(), violations);
    ASSERT_TRUE(layout.has_value()) << violations.ToStatus();
    EXPECT_EQ(
        layout->KvElementsPerRank(*grouped->spec().layer_kinds[0].attention),
        2 * heads * 6);
  }
}

Layout WholeLayout(const ModelGraph& graph, int tensor) {
  Violations violations;
  const auto layout =
      Layout::Create({.tensor = tensor}, graph, ToyFabric(), violations);
  EXPECT_TRUE(layout.has_value()) << violations.ToStatus();
  return *layout;
}

// By hand from the published shapes, of one request of 8192 positions.
TEST(Layout, CachedElementsOfEveryAttentionKind) {
  const RequestGroup group{Role::kDecode, 7, 1, 8191, 100};
  const struct {
    ModelGraphSpec spec;
    int tensor;
    std::vector<double> want;  // By layer kind.
  } kCases[] = {
      {mansard::testing::DeepSeekV32Attention(), 8, {8192.0 * (576 + 128)}},
      // Window; window, entries of 4 and their index keys; entries of 128.
      {mansard::testing::DeepSeekV4FlashAttention(),
       8,
       {128 * 512, (128 + 2048) * 512 + 2048 * 128, (128 + 64) * 512}},
      {mansard::testing::GptOss20bAttention(),
       2,
       {128 * 4 * 128, 8192 * 4 * 128}},
      {mansard::testing::Gemma4Attention(),
       1,
       {1024 * 8 * 512, 8192 * 2 * 1024}},
      // Cross-attention holds the encoder's 100 positions, heads shared.
      {mansard::testing::LlamaVisionAttention(),
       2,
       {8192 * 4 * 256, 100 * 4 * 256}},
  };
  for (const auto& c : kCases) {
    const auto graph = mansard::testing::BuildGraph(c.spec);
    const Layout layout = WholeLayout(*graph, c.tensor);
    for (size_t i = 0; i < c.want.size(); ++i) {
      const LayerKind& kind = graph->spec().layer_kinds[i];
      EXPECT_EQ(layout.CachedElements(*kind.attention, group), c.want[i])
          << kind.name;
    }
  }
}

TEST(Layout, PooledPositionsWaitForTheirEntry) {
  const auto graph = mansard::testing::BuildGraph(
      mansard::testing::DeepSeekV4FlashAttention());
  const Layout layout = WholeLayout(*graph, 8);
  const auto& kinds = graph->spec().layer_kinds;
  EXPECT_EQ(layout.PooledStateElements(*kinds[0].attention), 0);
  // Eight positions: values and gates of two entries' channels.
  EXPECT_EQ(layout.PooledStateElements(*kinds[1].attention),
            8 * 2 * 2 * (512 + 128));
  EXPECT_EQ(layout.PooledStateElements(*kinds[2].attention), 128 * 2 * 512);
}

TEST(Layout, KnowsWhichLayersAttendToAnEncoder) {
  const auto vision =
      mansard::testing::BuildGraph(mansard::testing::LlamaVisionAttention());
  EXPECT_TRUE(AttendsToEncoder(*vision));
  EXPECT_FALSE(AttendsToEncoder(vision->spec().layer_kinds[0]));
  EXPECT_TRUE(AttendsToEncoder(vision->spec().layer_kinds[1]));
  EXPECT_FALSE(AttendsToEncoder(*Graph()));
}

TEST(Layout, NamesTheRuleThatOutputGroupsAndCrossAttentionBreak) {
  ModelGraphSpec spec = mansard::testing::DeepSeekV4FlashAttention();
  for (LayerKind& kind : spec.layer_kinds) {
    std::get<CompressedAttention>(*kind.attention).output_groups = 2;
  }
  EXPECT_EQ(ErrorOf({.tensor = 4}, *mansard::testing::BuildGraph(spec)),
            "tensor_size: is 4, which does not divide the groups of the output "
            "projection, 2; allowed: 1, 2");
  spec = mansard::testing::LlamaVisionAttention();
  std::get<CrossAttention>(*spec.layer_kinds[1].attention).query_heads = 8;
  std::get<CrossAttention>(*spec.layer_kinds[1].attention).kv_heads = 1;
  EXPECT_EQ(ErrorOf({.tensor = 3}, *mansard::testing::BuildGraph(spec)),
            "tensor_size: is 3, which does not divide the query heads, 32; "
            "allowed: 1, 2, 4, 8");
}

TEST(Layout, NamesTheRuleThatExpertsAndLatentHeadsBreak) {
  ModelGraphSpec moe = mansard::testing::TinyMoeGraph();
  auto& experts = std::get<MixtureOfExperts>(moe.layer_kinds[0].feed_forward);
  experts.expert_intermediate_size = 6;
  EXPECT_EQ(ErrorOf({.tensor = 4}, *mansard::testing::BuildGraph(moe)),
            "tensor_size: is 4, which does not divide the experts' width, 6; "
            "allowed: 1, 2");
  experts.expert_intermediate_size = 8;
  experts.shared_intermediate_size = 10;
  EXPECT_EQ(ErrorOf({.tensor = 4}, *mansard::testing::BuildGraph(moe)),
            "tensor_size: is 4, which does not divide the shared experts' "
            "width, 10; allowed: 1, 2");
  EXPECT_EQ(ErrorOf({.tensor = 8}, *mansard::testing::BuildGraph(
                                       mansard::testing::TinyLatentGraph())),
            "tensor_size: is 8, which does not divide the query heads, 4; "
            "allowed: 1, 2, 4");
}

TEST(Layout, NamesEverySizeThatIsNotModelled) {
  const std::string error =
      ErrorOf({.tensor = 5, .pipeline = 2, .expert = 4, .data = -1, .nodes = 2},
              *Graph());
  for (const char* want :
       {"tensor_size: is 5", "pipeline_size: is 2", "expert_size: is 4",
        "data_size: is -1", "node_count: is 2"}) {
    EXPECT_THAT(error, HasSubstr(want));
  }
  Violations violations;
  EXPECT_TRUE(Layout::Create({.tensor = 2, .pipeline = 1, .data = 1}, *Graph(),
                             ToyFabric(), violations)
                  .has_value());
}

}  // namespace
}  // namespace mansard::model
