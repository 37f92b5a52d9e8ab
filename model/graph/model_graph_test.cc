#include "model/graph/model_graph.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LayerKind Layer(std::string name, int query_heads, int kv_heads, int head_size,
                int64_t intermediate_size) {
  LayerKind kind;
  kind.name = std::move(name);
  kind.attention = GroupedQueryAttention{};
  kind.feed_forward = DenseFeedForward{};
  GroupedOf(kind).query_heads = query_heads;
  GroupedOf(kind).kv_heads = kv_heads;
  GroupedOf(kind).head_size = head_size;
  DenseOf(kind).intermediate_size = intermediate_size;
  return kind;
}

// Three layers of hidden size 8, 4 query heads of size 3, 2 KV heads.
ModelGraphSpec Small() {
  ModelGraphSpec spec;
  spec.hidden_size = 8;
  spec.vocabulary_size = 10;
  spec.layer_kinds = {Layer("dense", 4, 2, 3, 16)};
  spec.layer_kind_indexes = {0, 0, 0};
  spec.max_context = 128;
  return spec;
}

ModelGraphSpec Llama(int layers, int64_t hidden, int query_heads,
                     int64_t intermediate_size) {
  ModelGraphSpec spec;
  spec.hidden_size = hidden;
  spec.vocabulary_size = 128256;
  spec.layer_kinds = {Layer("dense", query_heads, 8, 128, intermediate_size)};
  spec.layer_kind_indexes.assign(static_cast<size_t>(layers), 0);
  spec.max_context = 131072;
  return spec;
}

ModelGraph CreateOrDie(ModelGraphSpec spec) {
  Violations violations;
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  EXPECT_TRUE(graph.has_value()) << violations.ToStatus();
  return *std::move(graph);
}

// The classes of a plain dense transformer.
std::vector<int64_t> Parameters(const ModelGraph& graph) {
  std::vector<int64_t> counts;
  for (TensorClass tensor_class :
       {TensorClass::kEmbedding, TensorClass::kAttention,
        TensorClass::kFeedForward, TensorClass::kNorm, TensorClass::kHead}) {
    counts.push_back(graph.ParameterCount(tensor_class));
  }
  return counts;
}

// Published totals.
TEST(ModelGraphTest, CountsLlama) {
  const ModelGraph small = CreateOrDie(Llama(32, 4096, 32, 14336));
  EXPECT_EQ(small.ParameterCount(), 8030261248);
  EXPECT_EQ(small.KvBytesPerToken(Format::kBf16).value(), 131072);
  EXPECT_EQ(small.layer_count(), 32);
  const ModelGraph large = CreateOrDie(Llama(80, 8192, 64, 28672));
  EXPECT_EQ(large.ParameterCount(), 70553706496);
  EXPECT_EQ(large.KvBytesPerToken(Format::kBf16).value(), 327680);
  EXPECT_EQ(large.KvBytesPerToken(Format::kFp8E4m3).value(), 163840);
}

// A layer of Small(): q 8x12, k and v 8x6, o 12x8: 288; gate and up 8x16, down
// 16x8: 384; two norms of 8: 16. Final norm 8.
TEST(ModelGraphTest, CountsByTensorClass) {
  EXPECT_THAT(Parameters(CreateOrDie(Small())),
              ElementsAre(80, 3 * 288, 3 * 384, 3 * 16 + 8, 80));
}

struct Change {
  const char* name;
  std::function<void(ModelGraphSpec&)> change;
  std::vector<int64_t> counts;
};

TEST(ModelGraphTest, EachFlagCounts) {
  const Change changes[] = {
      {"tied embeddings: one matrix",
       [](ModelGraphSpec& spec) { spec.tied_embeddings = true; },
       {80, 864, 1152, 56, 0}},
      {"q, k, v biases: 12 + 6 + 6",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).qkv_bias = true;
       },
       {80, 3 * (288 + 24), 1152, 56, 80}},
      {"output bias: 8",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).output_bias = true;
       },
       {80, 3 * (288 + 8), 1152, 56, 80}},
      {"q and k norm: 3 + 3",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).qk_norm = QkNorm::kPerHead;
       },
       {80, 864, 1152, 3 * (16 + 6) + 8, 80}},
      {"no gate: 8x16 fewer",
       [](ModelGraphSpec& spec) { DenseOf(spec.layer_kinds[0]).gated = false; },
       {80, 864, 3 * 256, 56, 80}},
      {"feed-forward biases: 16 + 16 + 8",
       [](ModelGraphSpec& spec) { DenseOf(spec.layer_kinds[0]).bias = true; },
       {80, 864, 3 * (384 + 40), 56, 80}},
      {"a window costs no weights",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).sliding_window = 64;
       },
       {80, 864, 1152, 56, 80}},
  };
  for (const Change& row : changes) {
    SCOPED_TRACE(row.name);
    ModelGraphSpec spec = Small();
    row.change(spec);
    const ModelGraph graph = CreateOrDie(spec);
    EXPECT_EQ(Parameters(graph), row.counts);
    int64_t total = 0;
    for (int64_t count : row.counts) total += count;
    EXPECT_EQ(graph.ParameterCount(), total);
  }
}

TEST(ModelGraphTest, KindsCountAsOftenAsTheyStand) {
  ModelGraphSpec spec = Small();
  // q 8x16, k and v 8x4, o 16x8: 320; 8x4x2 + 4x8: 96.
  spec.layer_kinds.push_back(Layer("narrow", 4, 1, 4, 4));
  spec.layer_kind_indexes = {0, 1, 1, 0, 1};
  const ModelGraph graph = CreateOrDie(spec);
  EXPECT_EQ(graph.layer_count(), 5);
  EXPECT_EQ(graph.CountOf(0), 2);
  EXPECT_EQ(graph.CountOf(1), 3);
  EXPECT_THAT(Parameters(graph), ElementsAre(80, 2 * 288 + 3 * 320,
                                             2 * 384 + 3 * 96, 5 * 16 + 8, 80));
  // 2 x (2 x 2 x 3) + 3 x (2 x 1 x 4) elements of 2 bytes.
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), (24 + 24) * 2);
}

struct Broken {
  const char* field;
  const char* description;
  std::function<void(ModelGraphSpec&)> change;
};

TEST(ModelGraphTest, NamesEveryBrokenRule) {
  const Broken rows[] = {
      {"hidden_size", "is 0; allowed: 1 to 16777216",
       [](ModelGraphSpec& spec) { spec.hidden_size = 0; }},
      {"hidden_size", "is 16777217; allowed: 1 to 16777216",
       [](ModelGraphSpec& spec) { spec.hidden_size = (1 << 24) + 1; }},
      {"vocabulary_size", "is -1; allowed: 1 to 268435456",
       [](ModelGraphSpec& spec) { spec.vocabulary_size = -1; }},
      {"max_context_token_count", "is 0; allowed: 1 to 1000000000",
       [](ModelGraphSpec& spec) { spec.max_context = 0; }},
      {"layer_kinds", "is empty; at least one is needed",
       [](ModelGraphSpec& spec) {
         spec.layer_kinds.clear();
         spec.layer_kind_indexes.clear();
       }},
      {"layer_kinds[0].kind",
       "is \"Dense\"; allowed: 1 to 63 lower-case letters, digits, \"-\", "
       "\".\"",
       [](ModelGraphSpec& spec) { spec.layer_kinds[0].name = "Dense"; }},
      {"layer_kinds[1].kind", "\"dense\" stands for another kind already",
       [](ModelGraphSpec& spec) {
         spec.layer_kinds.push_back(spec.layer_kinds[0]);
       }},
      {"layer_kinds[0].attention.query_head_count", "is 0; allowed: 1 to 65536",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).query_heads = 0;
       }},
      {"layer_kinds[0].attention.grouped_query.kv_head_count",
       "is 3; must divide the query heads, 4",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).kv_heads = 3;
       }},
      {"layer_kinds[0].attention.grouped_query.head_size",
       "is 65537; allowed: 1 to 65536",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).head_size = 65537;
       }},
      {"layer_kinds[0].attention.grouped_query.head_size",
       "is 65536; times the query heads, 512, it may be up to 16777216",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).query_heads = 512;
         GroupedOf(spec.layer_kinds[0]).head_size = 65536;
       }},
      {"layer_kinds[0].attention.sliding_window_token_count",
       "is -1; allowed: 0 to 1000000000",
       [](ModelGraphSpec& spec) {
         GroupedOf(spec.layer_kinds[0]).sliding_window = -1;
       }},
      {"layer_kinds[0].dense.intermediate_size", "is 0; allowed: 1 to 16777216",
       [](ModelGraphSpec& spec) {
         DenseOf(spec.layer_kinds[0]).intermediate_size = 0;
       }},
      {"layer_kind_indexes", "names 0 layers; allowed: 1 to 4096",
       [](ModelGraphSpec& spec) { spec.layer_kind_indexes.clear(); }},
      {"layer_kind_indexes", "names 4097 layers; allowed: 1 to 4096",
       [](ModelGraphSpec& spec) { spec.layer_kind_indexes.assign(4097, 0); }},
      {"layer_kind_indexes[2]", "is 1; there are 1 layer kinds",
       [](ModelGraphSpec& spec) { spec.layer_kind_indexes[2] = 1; }},
      {"layer_kind_indexes[0]", "is -1; there are 1 layer kinds",
       [](ModelGraphSpec& spec) { spec.layer_kind_indexes[0] = -1; }},
  };
  for (const Broken& row : rows) {
    SCOPED_TRACE(std::string(row.field) + ": " + row.description);
    ModelGraphSpec spec = Small();
    row.change(spec);
    Violations violations;
    EXPECT_FALSE(ModelGraph::Create(spec, violations).has_value());
    bool found = false;
    for (const Violation& violation : violations.all()) {
      found |= violation.field == row.field &&
               violation.description == row.description;
    }
    EXPECT_TRUE(found) << violations.ToStatus();
  }
}

TEST(ModelGraphTest, AllViolationsAtOnce) {
  ModelGraphSpec spec = Small();
  spec.hidden_size = 0;
  spec.vocabulary_size = 0;
  GroupedOf(spec.layer_kinds[0]).kv_heads = 0;
  spec.layer_kind_indexes = {7};
  Violations violations;
  EXPECT_FALSE(ModelGraph::Create(spec, violations).has_value());
  EXPECT_EQ(violations.all().size(), 4u) << violations.ToStatus();
}

TEST(ModelGraphTest, EarlierViolationsDoNotCount) {
  Violations violations;
  violations.Add("elsewhere", "is wrong");
  EXPECT_TRUE(ModelGraph::Create(Small(), violations).has_value());
  EXPECT_EQ(violations.all().size(), 1u);
}

// Counts of the largest graphs allowed stay within 64 bits, and larger ones are
// refused although each of their sizes is allowed.
TEST(ModelGraphTest, LargestGraph) {
  ModelGraphSpec spec;
  spec.hidden_size = 1 << 24;
  spec.vocabulary_size = 1 << 28;
  spec.layer_kinds = {Layer("dense", 65536, 65536, 256, 1 << 24)};
  GroupedOf(spec.layer_kinds[0]).qkv_bias = true;
  GroupedOf(spec.layer_kinds[0]).output_bias = true;
  DenseOf(spec.layer_kinds[0]).bias = true;
  // 4 attention and 3 feed-forward matrices of 2^48 weights a layer.
  spec.layer_kind_indexes.assign(4096, 0);
  spec.max_context = 1;
  const ModelGraph graph = CreateOrDie(spec);
  EXPECT_GT(graph.ParameterCount(), int64_t{7} << 60);
  EXPECT_LT(graph.ParameterCount(), std::numeric_limits<int64_t>::max());

  const auto refused = [](const ModelGraphSpec& larger) {
    Violations violations;
    EXPECT_FALSE(ModelGraph::Create(larger, violations).has_value());
    ASSERT_EQ(violations.all().size(), 1u) << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, "layer_kind_indexes");
    EXPECT_THAT(violations.all()[0].description,
                HasSubstr("parameters; allowed: up to 9e18"));
  };
  // An eighth matrix.
  GroupedOf(spec.layer_kinds[0]).output_gate = true;
  refused(spec);
  // Drafting modules count: 64 of 64 layers are as many again.
  spec.layer_kind_indexes = {0};
  spec.mtp.modules = 64;
  spec.mtp.layer_kind_indexes.assign(64, 0);
  refused(spec);
}

TEST(ModelGraphTest, WithKvHeads) {
  const ModelGraph graph = CreateOrDie(Small());
  Violations violations;
  const std::optional<ModelGraph> wider =
      graph.WithKvHeads(4, "kv_head_count", violations);
  ASSERT_TRUE(wider.has_value());
  // k and v grow from 8x6 to 8x12 each.
  EXPECT_EQ(wider->ParameterCount(TensorClass::kAttention), 3 * (288 + 96));
  EXPECT_EQ(wider->KvBytesPerToken(Format::kBf16).value(), 3 * 2 * 12 * 2);
  EXPECT_EQ(graph.ParameterCount(TensorClass::kAttention), 3 * 288);
  EXPECT_TRUE(violations.empty());
  for (int kv_heads : {3, 0, -1, 8}) {
    Violations refused;
    EXPECT_FALSE(graph.WithKvHeads(kv_heads, "kv_head_count", refused));
    ASSERT_EQ(refused.all().size(), 1u) << kv_heads;
    EXPECT_EQ(refused.all()[0].field, "kv_head_count");
    EXPECT_EQ(
        refused.all()[0].description,
        "is " + std::to_string(kv_heads) + "; must divide the query heads, 4");
  }
}

TEST(ModelGraphTest, WithKvHeadsChangesGroupedQueriesAlone) {
  ModelGraphSpec spec = Small();
  LayerKind cross{.name = "cross", .attention = CrossAttention{4, 4, 3}};
  LayerKind mlp{.name = "mlp", .feed_forward = DenseFeedForward{16}};
  spec.layer_kinds.push_back(cross);
  spec.layer_kinds.push_back(mlp);
  spec.layer_kind_indexes = {0, 1, 2};
  Violations violations;
  const std::optional<ModelGraph> changed =
      CreateOrDie(spec).WithKvHeads(1, "kv_head_count", violations);
  ASSERT_TRUE(changed.has_value()) << violations.ToStatus();
  EXPECT_EQ(GroupedOf(changed->spec().layer_kinds[0]).kv_heads, 1);
  EXPECT_EQ(changed->spec().layer_kinds[1], cross);

  spec.layer_kind_indexes = {0, 0};
  spec.layer_kinds = {cross};
  EXPECT_FALSE(CreateOrDie(spec).WithKvHeads(1, "kv_head_count", violations));
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].description,
            "is 1; no layer has grouped queries, and so KV heads");
}

TEST(ModelGraphTest, CacheGrowsUntilWindowsAreFull) {
  ModelGraphSpec spec = Small();
  spec.layer_kinds.push_back(Layer("window", 4, 2, 3, 16));
  GroupedOf(spec.layer_kinds[1]).sliding_window = 64;
  spec.layer_kinds.push_back(Layer("chunk", 4, 2, 3, 16));
  GroupedOf(spec.layer_kinds[2]).chunk = 64;
  spec.layer_kinds.push_back(Layer("shared", 4, 2, 3, 16));
  GroupedOf(spec.layer_kinds[3]).shared_kv = true;
  spec.layer_kind_indexes = {0, 1, 2, 3};
  const ModelGraph graph = CreateOrDie(spec);
  // 2 x 2 heads x 3, two bytes, in three layers and in one.
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 72);
  EXPECT_EQ(graph.UnboundedKvBytesPerToken(Format::kBf16).value(), 24);
  EXPECT_EQ(graph.IndexerBytesPerToken(Format::kBf16).value(), 0);
  EXPECT_EQ(graph.StateBytesPerSequence(Format::kFp32, Format::kBf16).value(),
            0);
}

}  // namespace
}  // namespace mansard::model
