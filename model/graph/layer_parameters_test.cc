// Parameters of single layers worked out by hand, and what each flag adds.

#include "model/graph/layer_parameters.h"

#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/model_graph.h"
#include "tests/toy/published_shapes.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

ModelGraph Build(ModelGraphSpec spec) {
  Violations violations;
  std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(spec), violations);
  EXPECT_TRUE(graph.has_value()) << violations.ToStatus();
  return *std::move(graph);
}

// DeepSeek-V3, hidden 7168.
constexpr int64_t kLatentAttention = 7168 * 1536          // queries down
                                     + 1536 * 128 * 192   // and up,
                                     + 7168 * (512 + 64)  // latent and key,
                                     + 512 * 128 * 256    // expansion,
                                     + 128 * 128 * 7168;  // output.
constexpr int64_t kExpert = 3 * 7168 * 2048;

TEST(LayerParameters, LatentAttention) {
  const ModelGraphSpec spec = mansard::testing::DeepSeekV3();
  const LayerKind& kind = spec.layer_kinds[1];
  EXPECT_EQ(AttentionParameters(*kind.attention, 7168), kLatentAttention);
  EXPECT_EQ(kLatentAttention, 187'105'280);
  EXPECT_EQ(NormParameters(kind, 7168, false), 2 * 7168 + 1536 + 512);

  // DeepSeek-V2-Lite projects its queries directly.
  LatentAttention direct = std::get<LatentAttention>(*kind.attention);
  direct.query_heads = 16;
  direct.query_lora_rank = 0;
  EXPECT_EQ(AttentionParameters(direct, 2048),
            2048 * 16 * 192 + 2048 * 576 + 512 * 16 * 256 + 16 * 128 * 2048);
}

TEST(LayerParameters, MixtureOfExperts) {
  const ModelGraphSpec spec = mansard::testing::DeepSeekV3();
  const FeedForward& experts = spec.layer_kinds[1].feed_forward;
  const ParameterCounts counts = FeedForwardParameters(experts, 7168);
  EXPECT_EQ(counts[TensorClass::kRouter], 7168 * 256);
  EXPECT_EQ(counts[TensorClass::kExperts], 256 * kExpert);
  EXPECT_EQ(counts[TensorClass::kSharedExperts], kExpert);
  EXPECT_EQ(counts.Total(), 7168 * 256 + 257 * kExpert);
  EXPECT_EQ(IdleParameters(experts, 7168), 248 * kExpert);
  EXPECT_EQ(IdleParameters(spec.layer_kinds[0].feed_forward, 7168), 0);
  EXPECT_EQ(IdleParameters(NoFeedForward{}, 7168), 0);
  EXPECT_EQ(FeedForwardParameters(NoFeedForward{}, 7168).Total(), 0);
}

// A layer of hidden size 16 with every kind of part that flags belong to.
struct Change {
  const char* name;
  std::function<void(LayerKind&, ModelGraphSpec&)> change;
  TensorClass tensor_class;
  int64_t adds;
};

void ExpectAdds(const LayerKind& base, const std::vector<Change>& changes) {
  ModelGraphSpec spec;
  spec.hidden_size = 16;
  const ParameterCounts before = LayerParameters(base, spec);
  for (const Change& row : changes) {
    LayerKind kind = base;
    ModelGraphSpec changed = spec;
    row.change(kind, changed);
    ParameterCounts expected = before;
    expected[row.tensor_class] += row.adds;
    EXPECT_EQ(LayerParameters(kind, changed), expected)
        << row.name << ": adds "
        << LayerParameters(kind, changed).Total() - before.Total() << ", not "
        << row.adds;
  }
}

template <typename T>
std::function<void(LayerKind&, ModelGraphSpec&)> In(
    std::function<void(T&)> change) {
  return [change](LayerKind& kind, ModelGraphSpec& /*spec*/) {
    change(std::get<T>(*kind.attention));
  };
}

using Grouped = GroupedQueryAttention;

TEST(LayerParameters, GroupedQueries) {
  const LayerKind base{
      .name = "layer",
      .attention = Grouped{.query_heads = 4, .kv_heads = 2, .head_size = 5}};
  ModelGraphSpec spec;
  spec.hidden_size = 16;
  // q 16x20, k and v 16x10, o 20x16; one norm.
  EXPECT_EQ(LayerParameters(base, spec)[TensorClass::kAttention],
            320 + 160 + 160 + 320);
  EXPECT_EQ(LayerParameters(base, spec)[TensorClass::kNorm], 16);
  const auto attention = TensorClass::kAttention;
  const auto norm = TensorClass::kNorm;
  ExpectAdds(
      base,
      {{"q, k, v biases", In<Grouped>([](Grouped& a) { a.qkv_bias = true; }),
        attention, 20 + 10 + 10},
       {"output bias", In<Grouped>([](Grouped& a) { a.output_bias = true; }),
        attention, 16},
       {"values of 3: v 16x6, o 12x16",
        In<Grouped>([](Grouped& a) { a.value_head_size = 3; }), attention,
        -16 * 4 - 8 * 16},
       {"gate as wide as the queries",
        In<Grouped>([](Grouped& a) { a.output_gate = true; }), attention,
        16 * 20},
       {"its bias too", In<Grouped>([](Grouped& a) {
          a.output_gate = true;
          a.qkv_bias = true;
        }),
        attention, 16 * 20 + 20 + 10 + 10 + 20},
       {"a gate of values' width", In<Grouped>([](Grouped& a) {
          a.value_head_size = 3;
          a.output_gate = true;
        }),
        attention, -16 * 4 - 8 * 16 + 16 * 12},
       {"sinks", In<Grouped>([](Grouped& a) { a.sinks = true; }), attention, 4},
       {"no v", In<Grouped>([](Grouped& a) { a.value_from_key = true; }),
        attention, -160},
       {"no k, no v", In<Grouped>([](Grouped& a) { a.shared_kv = true; }),
        attention, -320},
       {"only the query's bias", In<Grouped>([](Grouped& a) {
          a.shared_kv = true;
          a.qkv_bias = true;
        }),
        attention, -320 + 20},
       {"unrotated parts",
        In<Grouped>([](Grouped& a) { a.nope_head_size = 5; }), attention, 0},
       {"window", In<Grouped>([](Grouped& a) { a.sliding_window = 64; }),
        attention, 0},
       {"norms of 5",
        In<Grouped>([](Grouped& a) { a.qk_norm = QkNorm::kPerHead; }), norm,
        10},
       {"with a bias each, as the layer's",
        [](LayerKind& kind, ModelGraphSpec& changed) {
          auto& a = std::get<Grouped>(*kind.attention);
          a.qk_norm = QkNorm::kPerHead;
          changed.norm_bias = true;
        },
        norm, 16 + 2 * 10},
       {"of all heads, never with a bias",
        [](LayerKind& kind, ModelGraphSpec& changed) {
          auto& a = std::get<Grouped>(*kind.attention);
          a.qk_norm = QkNorm::kAllHeads;
          changed.norm_bias = true;
        },
        norm, 16 + 20 + 10},
       {"without weights",
        In<Grouped>([](Grouped& a) { a.qk_norm = QkNorm::kUnweighted; }), norm,
        0}});
  LayerKind shared = base;
  std::get<Grouped>(*shared.attention).shared_kv = true;
  ExpectAdds(
      shared,
      {{"one norm of 5",
        In<Grouped>([](Grouped& a) { a.qk_norm = QkNorm::kPerHead; }), norm, 5},
       {"of all query heads",
        In<Grouped>([](Grouped& a) { a.qk_norm = QkNorm::kAllHeads; }), norm,
        20}});
}

TEST(LayerParameters, LatentFlags) {
  using Latent = LatentAttention;
  const LayerKind base{.name = "layer",
                       .attention = Latent{.query_heads = 4,
                                           .kv_lora_rank = 6,
                                           .query_lora_rank = 7,
                                           .nope_head_size = 3,
                                           .rope_head_size = 2,
                                           .value_head_size = 5}};
  const auto attention = TensorClass::kAttention;
  ExpectAdds(
      base,
      {{"biases of 7, 6 + 2 and 16",
        In<Latent>([](Latent& a) { a.bias = true; }), attention, 7 + 8 + 16},
       {"gate 16x20", In<Latent>([](Latent& a) { a.output_gate = true; }),
        attention, 16 * 20},
       {"rotation costs nothing",
        In<Latent>([](Latent& a) { a.unrotated = true; }), attention, 0},
       {"another layer's choice",
        In<Latent>([](Latent& a) { a.indexer = SparseIndexer{.top_k = 9}; }),
        attention, 0}});
  // Without a query latent there is no bias for it.
  Latent direct = std::get<Latent>(*base.attention);
  direct.query_lora_rank = 0;
  const int64_t unbiased = AttentionParameters(direct, 16);
  direct.bias = true;
  EXPECT_EQ(AttentionParameters(direct, 16) - unbiased, 8 + 16);
}

TEST(LayerParameters, ExpertFlags) {
  using Moe = MixtureOfExperts;
  const auto in = [](std::function<void(Moe&)> change) {
    return [change](LayerKind& kind, ModelGraphSpec& /*spec*/) {
      change(std::get<Moe>(kind.feed_forward));
    };
  };
  const LayerKind base{.name = "layer",
                       .feed_forward = Moe{.expert_count = 4,
                                           .experts_per_token = 1,
                                           .expert_intermediate_size = 10,
                                           .shared_intermediate_size = 6}};
  ExpectAdds(
      base,
      {{"router bias", in([](Moe& f) { f.router_bias = true; }),
        TensorClass::kRouter, 4},
       {"biases of 10, 10 and 16", in([](Moe& f) { f.expert_bias = true; }),
        TensorClass::kExperts, 4 * 36},
       {"two matrices", in([](Moe& f) { f.gated = false; }),
        TensorClass::kExperts, -4 * 160},
       {"of the shared ones", in([](Moe& f) { f.shared_gated = false; }),
        TensorClass::kSharedExperts, -96},
       {"gate of the shared ones",
        in([](Moe& f) { f.shared_expert_gate = true; }),
        TensorClass::kSharedExperts, 16},
       {"three norms", in([](Moe& f) { f.separate_norms = true; }),
        TensorClass::kNorm, 3 * 16},
       {"a table chooses", in([](Moe& f) { f.hash_routing = true; }),
        TensorClass::kRouter, 0}});
  // Experts of 3 x 10 x 8 behind 16x8, before 8x16; a norm of 8.
  Moe latent = std::get<Moe>(base.feed_forward);
  latent.latent_size = 8;
  latent.latent_norm = true;
  const ParameterCounts counts = FeedForwardParameters(latent, 16);
  EXPECT_EQ(counts[TensorClass::kRouter], 64 + 2 * 128);
  EXPECT_EQ(counts[TensorClass::kExperts], 4 * 240);
  EXPECT_EQ(counts[TensorClass::kSharedExperts], 3 * 96);
  EXPECT_EQ(IdleParameters(latent, 16), 3 * 240);
  EXPECT_EQ(
      NormParameters({.name = "layer", .feed_forward = latent}, 16, false),
      16 + 8);
  // Idle experts keep their biases.
  Moe biased = std::get<Moe>(base.feed_forward);
  biased.expert_bias = true;
  EXPECT_EQ(IdleParameters(biased, 16), 3 * (480 + 36));
}

TEST(LayerParameters, NormsAndStreams) {
  const LayerKind base{
      .name = "layer",
      .attention = Grouped{.query_heads = 4, .kv_heads = 2, .head_size = 5},
      .feed_forward = DenseFeedForward{24}};
  const auto norm = TensorClass::kNorm;
  ExpectAdds(
      base,
      {{"both have a bias",
        [](LayerKind& /*kind*/, ModelGraphSpec& s) { s.norm_bias = true; },
        norm, 32},
       {"after, not before",
        [](LayerKind& kind, ModelGraphSpec& /*s*/) {
          kind.norms = NormPlacement::kAfter;
        },
        norm, 0},
       {"two more",
        [](LayerKind& kind, ModelGraphSpec& /*s*/) {
          kind.norms = NormPlacement::kBoth;
        },
        norm, 32},
       {"one for both halves",
        [](LayerKind& kind, ModelGraphSpec& /*s*/) { kind.parallel = true; },
        norm, -16},
       {"one each",
        [](LayerKind& kind, ModelGraphSpec& /*s*/) {
          kind.parallel = true;
          kind.parallel_norms = true;
        },
        norm, 0},
       {"scales",
        [](LayerKind& kind, ModelGraphSpec& /*s*/) {
          kind.extra_parameters = 9;
        },
        TensorClass::kScale, 9},
       {"four streams, twice: 96 x 16 + 24 + 3",
        [](LayerKind& /*kind*/, ModelGraphSpec& s) { s.residual_streams = 4; },
        TensorClass::kResidual, 2 * (96 * 16 + 24 + 3)},
       {"nothing changes without a table",
        [](LayerKind& /*kind*/, ModelGraphSpec& s) {
          s.tied_embeddings = true;
        },
        norm, 0}});
  ModelGraphSpec spec;
  spec.hidden_size = 16;
  spec.layer_input_size = 3;  // Gate 16x3, projection 3x16, a norm.
  EXPECT_EQ(LayerParameters(base, spec)[TensorClass::kLayerInput], 96);
  EXPECT_EQ(LayerParameters(base, spec)[norm], 3 * 16);
  // A layer without a mixer has one norm and mixes streams once.
  spec.layer_input_size = 0;
  spec.residual_streams = 2;
  const LayerKind mlp{.name = "mlp", .feed_forward = DenseFeedForward{24}};
  EXPECT_EQ(LayerParameters(mlp, spec)[norm], 16);
  EXPECT_EQ(LayerParameters(mlp, spec)[TensorClass::kResidual],
            16 * 16 + 8 + 3);
}

TEST(LayerParameters, DeepSeekV3HasThePublishedTotal) {
  const ModelGraph graph = Build(mansard::testing::DeepSeekV3());
  EXPECT_EQ(graph.ParameterCount(TensorClass::kAttention),
            61 * kLatentAttention);
  EXPECT_EQ(graph.ParameterCount(TensorClass::kFeedForward),
            3 * (3LL * 7168 * 18432));
  EXPECT_EQ(graph.ParameterCount(TensorClass::kExperts), 58 * 256 * kExpert);
  EXPECT_EQ(graph.ParameterCount(), 671'026'404'352);
  EXPECT_EQ(graph.ActiveParameterCount(), 37'552'282'624);
  EXPECT_EQ(graph.ExpertCount(), 256);
  // 61 x (512 + 64) x 2 bytes, however many heads.
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 70272);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kFp8E4m3).value(), 35136);
}

TEST(LayerParameters, MixtralHasThePublishedTotal) {
  const ModelGraph graph = Build(mansard::testing::Mixtral8x7b());
  EXPECT_EQ(graph.ParameterCount(), 46'702'792'704);
  EXPECT_EQ(graph.ActiveParameterCount(), 12'879'925'248);
  EXPECT_EQ(graph.ExpertCount(), 8);
  EXPECT_EQ(graph.KvBytesPerToken(Format::kBf16).value(), 131072);
}

// The same facts as an independent counter's, where its table is at hand.
TEST(LayerParameters, TotalsAreThoseOfTheIndex) {
  std::ifstream index(MANSARD_SOURCE_DIR "/../shared/model_configs/index.csv");
  if (!index) GTEST_SKIP() << "no ../shared/model_configs/index.csv";
  int found = 0;
  for (std::string line; std::getline(index, line);) {
    if (line.rfind("deepseek-ai__DeepSeek-V3.json,", 0) == 0) {
      EXPECT_THAT(line, HasSubstr(",671026404352,37552282624,"));
      EXPECT_THAT(line, HasSubstr(",70272,70272,"));
      ++found;
    }
    if (line.rfind("mistralai__Mixtral-8x7B-v0.1.json,", 0) == 0) {
      EXPECT_THAT(line, HasSubstr(",46702792704,12879925248,"));
      EXPECT_THAT(line, HasSubstr(",131072,131072,"));
      ++found;
    }
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace mansard::model
