// DeepSeek-V4's layers: window, compressed and heavily compressed attention,
// experts by table, parallel residual streams.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_compressions.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const Keys kKeys = {{"num_hidden_layers", "4"},
                    {"compress_ratios", "[0, 4, 128, 4, 0]"},
                    {"num_key_value_heads", "1"},
                    {"head_dim", "6"},
                    {"intermediate_size", ""},
                    {"qk_rope_head_dim", "2"},
                    {"q_lora_rank", "5"},
                    {"o_groups", "2"},
                    {"o_lora_rank", "3"},
                    {"sliding_window", "128"},
                    {"index_n_heads", "2"},
                    {"index_head_dim", "7"},
                    {"index_topk", "9"},
                    {"hc_mult", "4"},
                    {"n_routed_experts", "4"},
                    {"num_experts_per_tok", "2"},
                    {"moe_intermediate_size", "5"},
                    {"n_shared_experts", "1"},
                    {"num_hash_layers", "1"},
                    {"num_nextn_predict_layers", "1"}};

Keys With(const Keys& changes) {
  Keys keys = kKeys;
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

ImportedConfig Import(const Keys& changes = {}) {
  return ImportOrDie(Config("DeepseekV4ForCausalLM", With(changes)));
}

std::vector<std::string> KindNames(const ImportedConfig& imported) {
  std::vector<std::string> names;
  const ModelGraphSpec& spec = imported.graph.spec();
  for (const int index : spec.layer_kind_indexes) {
    names.push_back(spec.layer_kinds[static_cast<size_t>(index)].name);
  }
  return names;
}

const CompressedAttention& AttentionOf(const ImportedConfig& imported,
                                       size_t layer) {
  const ModelGraphSpec& spec = imported.graph.spec();
  return std::get<CompressedAttention>(
      *spec.layer_kinds[static_cast<size_t>(spec.layer_kind_indexes[layer])]
           .attention);
}

// By hand from the modules of modeling_deepseek_v4.py: hidden size 8, 4 heads
// of 6, 2 groups.
constexpr int64_t kWindowPart = 8 * 5 + 5 + 5 * 24        // Queries.
                                + 8 * 6 + 6               // Key and value.
                                + 12 * 6 + 6 * 8 + 4;     // Output, sinks.
constexpr int64_t kSparsePart = 2 * 8 * 12 + 4 * 12 + 6;  // Entries.
constexpr int64_t kIndexerPart = 2 * 8 * 14 + 4 * 14 + 7 + 5 * 2 * 7 + 8 * 2;
constexpr int64_t kHeavyPart = 2 * 8 * 6 + 128 * 6 + 6;
constexpr int64_t kExperts = 4 * 3 * 8 * 5 + 3 * 8 * 5 + 4 * 8;
// Two mixings of 4 streams, two norms.
constexpr int64_t kPerLayer = 2 * (6 * 4 * 4 * 8 + 24 + 3) + 2 * 8;
constexpr int64_t kCollection = 4 * 4 * 8 + 4 + 1;

TEST(CompressedImport, CountsEachPart) {
  const ImportedConfig imported = Import();
  const ModelGraph& graph = imported.graph;
  EXPECT_EQ(graph.ParameterCount(), 4 * (kWindowPart + kExperts + kPerLayer) +
                                        2 * (kSparsePart + kIndexerPart) +
                                        kHeavyPart + kCollection + 8 + 2 * 80);
  EXPECT_EQ(graph.ParameterCount() - graph.ActiveParameterCount(),
            4 * 2 * 3 * 8 * 5);
  EXPECT_EQ(graph.MtpParameterCount(), kWindowPart + kExperts + kPerLayer +
                                           kCollection + 2 * 8 * 8 + 3 * 8);
  EXPECT_THAT(KindNames(imported),
              ElementsAre("window-moe-hash", "csa-moe", "hca-moe", "csa-moe"));
  EXPECT_EQ(graph.spec().residual_streams, 4);
  // 6 elements an entry; 7 an indexer key.
  EXPECT_DOUBLE_EQ(graph.KvBytesPerToken(Format::kBf16).value(),
                   2 * (6 / 4.0 + 6 / 4.0 + 6 / 128.0));
  EXPECT_DOUBLE_EQ(graph.IndexerBytesPerToken(Format::kBf16).value(),
                   2 * (7 / 4.0 + 7 / 4.0));
}

TEST(CompressedImport, ReadsEachKindOfLayer) {
  const ImportedConfig imported = Import();
  CompressedAttention expected;
  expected.query_heads = 4;
  expected.head_size = 6;
  expected.rope_head_size = 2;
  expected.query_lora_rank = 5;
  expected.output_groups = 2;
  expected.output_lora_rank = 3;
  expected.sliding_window = 128;
  EXPECT_EQ(AttentionOf(imported, 0), expected);
  CompressedAttention heavy = expected;
  heavy.ratio = 128;
  EXPECT_EQ(AttentionOf(imported, 2), heavy);
  CompressedAttention sparse = expected;
  sparse.ratio = 4;
  sparse.overlap = true;
  sparse.indexer = SparseIndexer{2, 7, 9};
  EXPECT_EQ(AttentionOf(imported, 1), sparse);
}

TEST(CompressedImport, WordsSayTheSameAsRatios) {
  const ImportedConfig words =
      Import({{"compress_ratios", ""},
              {"num_hash_layers", ""},
              {"qk_rope_head_dim", ""},
              {"partial_rotary_factor", "0.34"},
              {"layer_types",
               R"(["sliding_attention", "compressed_sparse_attention",
            "heavily_compressed_attention", "compressed_sparse_attention"])"},
              {"compress_rates", R"({"compressed_sparse_attention": 4,
                              "heavily_compressed_attention": 128})"},
              {"mlp_layer_types", R"(["hash_moe", "moe", "moe", "moe"])"}});
  const ImportedConfig ratios = Import();
  EXPECT_EQ(words.graph.spec().layer_kinds, ratios.graph.spec().layer_kinds);
  EXPECT_EQ(words.graph.spec().layer_kind_indexes,
            ratios.graph.spec().layer_kind_indexes);
  EXPECT_EQ(AttentionOf(Import({{"compress_rate_csa", "8"}}), 1).ratio, 8);
}

TEST(CompressedImport, AbsentPatternIsTheClassDefault) {
  const ImportedConfig imported = Import({{"compress_ratios", ""},
                                          {"num_hash_layers", ""},
                                          {"num_nextn_predict_layers", "0"}});
  EXPECT_THAT(KindNames(imported), ElementsAre("hca-moe-hash", "hca-moe-hash",
                                               "hca-moe-hash", "csa-moe"));
  EXPECT_EQ(imported.graph.MtpParameterCount(), 0);
}

TEST(CompressedImport, ExpertsMayBeStoredNarrower) {
  const ImportedConfig imported = Import({{"expert_dtype", "\"fp4\""}});
  EXPECT_EQ(imported.graph.spec().native_precision.weights, Format::kBf16);
  for (const LayerKind& kind : imported.graph.spec().layer_kinds) {
    EXPECT_THAT(kind.formats,
                ElementsAre(LinearFormats{LinearClass::kExperts, Format::kMxfp4,
                                          Format::kBf16}));
  }
  const ImportedConfig wide = Import({{"expert_dtype", "\"fp8\""}});
  for (const LayerKind& kind : wide.graph.spec().layer_kinds) {
    EXPECT_TRUE(kind.formats.empty());
  }
}

TEST(CompressedImport, RefusesWhatItCannotRead) {
  struct Case {
    Keys changes;
    std::string refusal;
  };
  const std::vector<Case> cases = {
      {{{"compress_ratios", "[0, 4, 128]"}},
       "compress_ratios: has 3 entries; num_hidden_layers is 4, "
       "num_nextn_predict_layers 1"},
      {{{"compress_ratios", "[0, 4, 16, 4]"}},
       "compress_ratios: has 16 for layer 2; allowed: 0 (window alone), 4, "
       "128"},
      {{{"layer_types", R"(["sliding_attention"])"}},
       "layer_types: has 1 entries; num_hidden_layers is 4"},
      {{{"layer_types", R"(["full_attention", "sliding_attention",
                            "sliding_attention", "sliding_attention"])"}},
       "layer_types: has \"full_attention\" for layer 0; allowed: "
       "sliding_attention, compressed_sparse_attention, "
       "heavily_compressed_attention"},
      {{{"mlp_layer_types", R"(["moe", "dense", "moe", "moe"])"}},
       "mlp_layer_types: has \"dense\" for layer 1; allowed: hash_moe, moe"},
      {{{"num_key_value_heads", "2"}},
       "num_key_value_heads: is 2; must be 1: one head is key and value of all "
       "query heads"},
      {{{"o_groups", "3"}},
       "o_groups: is 3; must divide num_attention_heads, 4"},
      {{{"qk_rope_head_dim", "7"}},
       "qk_rope_head_dim: is 7; may be up to head_dim, 6"},
      {{{"expert_dtype", "\"int2\""}},
       "expert_dtype: is \"int2\"; allowed: fp4, fp8"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Refusals(Config("DeepseekV4ForCausalLM", With(c.changes))),
                Contains(c.refusal))
        << c.refusal;
  }
}

}  // namespace
}  // namespace mansard::model
