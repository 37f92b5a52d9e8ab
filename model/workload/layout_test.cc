#include "model/workload/layout.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

// Eight a node, and a network.
Fabric Cluster() {
  FabricSpec spec = mansard::testing::ToyHardware().fabric;
  Link network = spec.links[0];
  network.tier = LinkTier::kRdma;
  network.domain_devices = 0;
  spec.links.push_back(network);
  Violations violations;
  return *Fabric::Create(spec, violations);
}

Layout On(const Fabric& fabric, const ModelGraph& graph,
          const Parallelism& parallelism) {
  Violations violations;
  const auto layout = Layout::Create(parallelism, graph, fabric, violations);
  EXPECT_TRUE(layout.has_value()) << violations.ToStatus();
  return *layout;
}

constexpr RankGroup kAlone = {};
constexpr RankGroup Near(int ranks) { return {ranks, LinkTier::kNvlink, 0}; }
constexpr RankGroup Far(int ranks, int node_ranks) {
  return {ranks, LinkTier::kRdma, node_ranks};
}

// By hand: tensor innermost, then context, data, pipeline; nodes of eight.
TEST(Layout, GroupsByPlacement) {
  const auto graph =
      mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  const struct {
    Parallelism asked;
    int devices, nodes, moe_tensor;
    RankGroup tensor, context, data, expert, gather;
  } kCases[] = {
      {{.tensor = 8}, 8, 1, 8, Near(8), kAlone, kAlone, kAlone, kAlone},
      {{.tensor = 16}, 16, 2, 16, Far(16, 8), kAlone, kAlone, kAlone, kAlone},
      // Devices 0 to 15.
      {{.tensor = 8, .expert = 16, .data = 2},
       16,
       2,
       1,
       Near(8),
       kAlone,
       Far(2, 1),
       Far(16, 8),
       kAlone},
      // 0, 4, 8, 12.
      {{.tensor = 4, .expert = 4, .data = 4},
       16,
       2,
       4,
       Near(4),
       kAlone,
       Far(4, 2),
       Far(4, 2),
       kAlone},
      // 0, 2, 4, ..., 14.
      {{.tensor = 2, .data = 8},
       16,
       2,
       16,
       Near(2),
       kAlone,
       Far(8, 4),
       kAlone,
       Far(8, 4)},
      // Experts of two data ranks together: 0 and 4; gathered from 0 and 2.
      {{.tensor = 2, .expert = 2, .data = 4},
       8,
       1,
       4,
       Near(2),
       kAlone,
       Near(4),
       Near(2),
       Near(2)},
      {{.tensor = 4, .data = 2, .moe_tensor = 2},
       8,
       1,
       2,
       Near(4),
       kAlone,
       Near(2),
       Near(4),
       kAlone},
      // Context ranks: 0, 2; data ranks: 0, 4.
      {{.tensor = 2, .expert = 4, .data = 2, .context = 2},
       8,
       1,
       1,
       Near(2),
       Near(2),
       Near(2),
       Near(4),
       kAlone},
      {{.tensor = 4, .context = 4},
       16,
       2,
       4,
       Near(4),
       Far(4, 2),
       kAlone,
       kAlone,
       kAlone},
      // Spread more thinly than must be.
      {{.tensor = 8, .nodes = 4},
       8,
       4,
       8,
       Far(8, 2),
       kAlone,
       kAlone,
       kAlone,
       kAlone},
      {{.tensor = 4, .pipeline = 3},
       12,
       3,
       4,
       Near(4),
       kAlone,
       kAlone,
       kAlone,
       kAlone},
  };
  for (const auto& c : kCases) {
    const Layout layout = On(Cluster(), *graph, c.asked);
    EXPECT_EQ(layout.device_count(), c.devices);
    EXPECT_EQ(layout.node_count(), c.nodes) << c.devices;
    EXPECT_EQ(layout.moe_tensor(), c.moe_tensor);
    EXPECT_EQ(layout.expert() * layout.moe_tensor(),
              layout.tensor() * layout.data());
    const auto same = [](const RankGroup& a, const RankGroup& b) {
      return a == b ? "" : "differs";
    };
    EXPECT_STREQ(same(layout.tensor_group(), c.tensor), "") << "tensor";
    EXPECT_STREQ(same(layout.context_group(), c.context), "") << "context";
    EXPECT_STREQ(same(layout.data_group(), c.data), "") << "data";
    EXPECT_STREQ(same(layout.expert_group(), c.expert), "") << "expert";
    EXPECT_STREQ(same(layout.gather_group(), c.gather), "") << "gather";
  }
}

TEST(Layout, TheNearestTierThatJoinsAGroup) {
  FabricSpec spec = mansard::testing::ToyHardware().fabric;
  spec.links[0].domain_devices = 2;
  Link bus = spec.links[0];
  bus.tier = LinkTier::kPcie;
  bus.domain_devices = 8;
  spec.links.push_back(bus);
  Violations violations;
  const Fabric pairs = *Fabric::Create(spec, violations);
  const Layout layout = On(pairs, *Graph(), {.tensor = 2, .data = 2});
  EXPECT_EQ(layout.tensor_group().tier, LinkTier::kNvlink);
  // Devices 0 and 2.
  EXPECT_EQ(layout.data_group().tier, LinkTier::kPcie);
}

// As get_pp_indices of vLLM has them: 61 layers on four are 15, 15, 16, 15.
TEST(Layout, StagesShareLayers) {
  const auto graph =
      mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  const struct {
    int stages;
    std::vector<int> layers;
  } kCases[] = {{1, {61}},
                {2, {31, 30}},
                {3, {20, 21, 20}},
                {4, {15, 15, 16, 15}},
                {8, {7, 7, 8, 8, 8, 8, 8, 7}}};
  for (const auto& c : kCases) {
    const Layout layout = On(Cluster(), *graph, {.pipeline = c.stages});
    int begin = 0;
    for (int stage = 0; stage < c.stages; ++stage) {
      const int layers = c.layers[static_cast<size_t>(stage)];
      EXPECT_EQ(layout.StageBegin(stage), begin) << c.stages;
      EXPECT_EQ(layout.StageEnd(stage), begin + layers) << c.stages;
      EXPECT_EQ(layout.StageOf(begin), stage);
      EXPECT_EQ(layout.StageOf(begin + layers - 1), stage);
      // Three dense layers come first.
      const int dense = std::max(0, std::min(3, begin + layers) - begin);
      EXPECT_EQ(layout.CountInStage(*graph, 0, stage), dense);
      EXPECT_EQ(layout.CountInStage(*graph, 1, stage), layers - dense);
      begin += layers;
    }
    EXPECT_EQ(begin, 61);
  }
}

TEST(Layout, StagesSendToTheNext) {
  const auto graph =
      mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  const Layout layout = On(Cluster(), *graph, {.tensor = 4, .pipeline = 4});
  EXPECT_TRUE(layout.TransferGroup(0) == Near(2));
  EXPECT_TRUE(layout.TransferGroup(1) == Far(2, 1));
  EXPECT_TRUE(layout.TransferGroup(2) == Near(2));
}

TEST(Layout, ContextRanksShareCachedPositions) {
  const auto graph =
      mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  const Layout layout = On(Cluster(), *graph, {.tensor = 2, .context = 4});
  const RequestGroup group{Role::kDecode, 1, 1, 1001, 0};
  // 1002 positions on four ranks.
  EXPECT_EQ(
      layout.CachedElements(*graph->spec().layer_kinds[1].attention, group),
      251 * 576);
}

// Every rule, on the field that a caller would change, with what is legal.
TEST(Layout, NamesTheBrokenRuleAndTheLegalSizes) {
  const auto dense = Graph();
  const auto moe = mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  const auto mixtral =
      mansard::testing::BuildGraph(mansard::testing::Mixtral8x7b());
  const auto recurrent = mansard::testing::BuildGraph(
      mansard::testing::TinyRecurrentGraph(StateRule::kMamba2));
  const struct {
    const ModelGraph& graph;
    bool network;
    Parallelism asked;
    std::vector<std::string> want;
  } kCases[] = {
      {*dense, true, {.pipeline = 3}, {"pipeline_size: is 3; allowed: 1 to 2"}},
      {*dense, true, {.pipeline = -1}, {"pipeline_size: is -1; allowed: 1 to"}},
      {*dense,
       true,
       {.expert = 2},
       {"expert_size: is 2, but the model has no experts; allowed: 1"}},
      {*dense,
       true,
       {.moe_tensor = 4},
       {"moe_tensor_size: is 4, but the model has no experts; allowed: 1"}},
      {*dense,
       true,
       {.micro_batches = 4},
       {"micro_batch_count: is 4; allowed without a pipeline: 1"}},
      {*dense,
       false,
       {.tensor = 8, .data = 2},
       {"node_count: would be more than 1, for 16 devices",
        "joins 8 devices and has no rdma tier; allowed: 1"}},
      {*dense,
       true,
       {.tensor = 8, .data = 2, .nodes = 1},
       {"node_count: is 1 for 16 devices, at most 8 a node",
        "allowed: 2, 4, 8, 16"}},
      {*dense,
       true,
       {.tensor = 4, .data = 2, .nodes = 3},
       {"node_count: is 3 for 8 devices", "allowed: 1, 2, 4, 8"}},
      {*dense, true, {.data = 70'000}, {"data_size: is 70000; allowed: 1 to"}},
      {*dense,
       true,
       {.tensor = 64, .data = 2048},
       {"data_size: makes 131072 devices", "allowed: 1 to 65536"}},
      {*mixtral,
       true,
       {.tensor = 8, .expert = 3},
       {"expert_size: is 3, which does not divide tensor_size x data_size, 8; "
        "allowed expert_size: 1, 2, 4, 8"}},
      {*mixtral,
       true,
       {.expert = 16, .data = 16},
       {"expert_size: is 16, which does not divide the experts, 8; allowed "
        "expert_size: 1, 2, 4, 8"}},
      {*mixtral,
       true,
       {.tensor = 8, .expert = 2, .moe_tensor = 2},
       {"expert_size: is 2, which times moe_tensor_size, 2, is not tensor_size "
        "x data_size, 8"}},
      {*mixtral,
       true,
       {.tensor = 8, .moe_tensor = 3},
       {"moe_tensor_size: is 3, which does not divide tensor_size x data_size, "
        "8; allowed: 1, 2, 4, 8"}},
      {*mixtral,
       true,
       {.data = 16, .moe_tensor = 1},
       {"moe_tensor_size: is 1: expert_size is then 16, which does not divide "
        "the experts, 8"}},
      // 14336 is 2^11 x 7.
      {*mixtral,
       true,
       {.data = 3},
       {"data_size: is 3, which with expert_size 1 leaves moe_tensor_size 3, "
        "which does not divide the experts' width, 14336; allowed expert_size: "
        "none"}},
      {*moe,
       true,
       {.expert = 4, .data = 6},
       {"expert_size: is 4, which does not divide tensor_size x data_size, 6; "
        "allowed expert_size: none"}},
      {*recurrent,
       true,
       {.context = 2},
       {"context_size: is 2, but layers of kind", "allowed: 1"}},
      {*dense, true, {.context = -2}, {"context_size: is -2"}},
      // All at once.
      {*dense,
       true,
       {.tensor = 5, .pipeline = 9, .expert = -1, .data = -3, .nodes = -2},
       {"tensor_size: is 5, which does not divide the query heads, 64; "
        "allowed: 1, 2, 4, 8, 16, 32, 64",
        "pipeline_size: is 9", "data_size: is -3", "expert_size: is -1",
        "node_count: is -2"}},
  };
  for (const auto& c : kCases) {
    Violations violations;
    EXPECT_FALSE(Layout::Create(c.asked, c.graph,
                                c.network ? Cluster() : ToyFabric(), violations)
                     .has_value());
    const std::string error(violations.ToStatus().message());
    for (const std::string& want : c.want) {
      EXPECT_THAT(error, HasSubstr(want));
    }
  }
}

TEST(Layout, ExpertSizesFollowFromEachOther) {
  const auto graph =
      mansard::testing::BuildGraph(mansard::testing::DeepSeekV3());
  const struct {
    Parallelism asked;
    int expert, moe_tensor;
  } kCases[] = {
      {{.tensor = 4, .data = 2}, 1, 8},
      {{.tensor = 4, .expert = 8, .data = 2}, 8, 1},
      {{.tensor = 4, .expert = 2, .data = 2}, 2, 4},
      {{.tensor = 4, .data = 2, .moe_tensor = 2}, 4, 2},
      {{.tensor = 8, .expert = 8}, 8, 1},
      {{.tensor = 8, .expert = 4, .moe_tensor = 2}, 4, 2},
  };
  for (const auto& c : kCases) {
    const Layout layout = On(Cluster(), *graph, c.asked);
    EXPECT_EQ(layout.expert(), c.expert);
    EXPECT_EQ(layout.moe_tensor(), c.moe_tensor);
    EXPECT_EQ(layout.ExpertsPerRank(256), 256 / c.expert);
    EXPECT_EQ(layout.ExpertWidthPerRank(2048), 2048 / c.moe_tensor);
  }
}

}  // namespace
}  // namespace mansard::model
