// Classes whose layers a row of the table cannot say.
#include "model/graph/hf_specials.h"

#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const LayerKind& LayerOf(const ImportedConfig& imported, size_t layer) {
  const ModelGraphSpec& spec = imported.graph.spec();
  return spec.layer_kinds[static_cast<size_t>(spec.layer_kind_indexes[layer])];
}

std::vector<std::string> KindsOf(const ImportedConfig& imported) {
  std::vector<std::string> names;
  for (int i = 0; i < imported.graph.layer_count(); ++i) {
    names.push_back(LayerOf(imported, static_cast<size_t>(i)).name);
  }
  return names;
}

std::string Llama4(const Keys& changes) {
  Keys keys = {
      {"num_hidden_layers", "4"},        {"attention_bias", "false"},
      {"num_local_experts", "8"},        {"num_experts_per_tok", "1"},
      {"intermediate_size", "16"},       {"intermediate_size_mlp", "32"},
      {"attention_chunk_size", "64"},    {"use_qk_norm", "true"},
      {"interleave_moe_layer_step", "2"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return Config("Llama4ForCausalLM", keys);
}

TEST(HfSpecialsTest, ChunksInRotatedLayers) {
  const ImportedConfig imported =
      ImportOrDie(Llama4({{"no_rope_layers", "[]"}}));
  EXPECT_THAT(KindsOf(imported),
              ElementsAre("chunk", "chunk-moe", "chunk", "moe"));
  EXPECT_EQ(GroupedOf(LayerOf(imported, 0)).chunk, 64);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 0)).qk_norm, QkNorm::kUnweighted);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 0)).nope_head_size, 0);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 3)).chunk, 0);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 3)).qk_norm, QkNorm::kNone);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 3)).nope_head_size, 2);
  // Dense layers have a width of their own; one shared expert.
  EXPECT_EQ(DenseOf(LayerOf(imported, 0)).intermediate_size, 32);
  const auto& experts =
      std::get<MixtureOfExperts>(LayerOf(imported, 1).feed_forward);
  EXPECT_EQ(experts.expert_intermediate_size, 16);
  EXPECT_EQ(experts.shared_intermediate_size, 16);
  // 2 x 80 + 4 (192 + 16) + 2 x 3x8x32 + 2 (64 + 9 x 3x8x16) + 8.
  EXPECT_EQ(imported.graph.ParameterCount(),
            160 + 4 * 208 + 2 * 768 + 2 * (64 + 9 * 384) + 8);
}

TEST(HfSpecialsTest, RotatedLayersByList) {
  const ImportedConfig imported =
      ImportOrDie(Llama4({{"no_rope_layers", "[1, 0, 0, 1]"}}));
  EXPECT_EQ(GroupedOf(LayerOf(imported, 0)).chunk, 64);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 1)).chunk, 0);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 2)).chunk, 0);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 3)).chunk, 64);
  EXPECT_THAT(Refusals(Llama4({{"no_rope_layers", "[1, 0]"}})),
              ElementsAre("no_rope_layers: has 2 entries; num_hidden_layers "
                          "is 4"));
}

TEST(HfSpecialsTest, CrossAttentionLayers) {
  const ImportedConfig imported = ImportOrDie(
      Config("MllamaForCausalLM", {{"cross_attention_layers", "[1]"}}));
  EXPECT_THAT(KindsOf(imported), ElementsAre("dense", "cross", "dense"));
  const auto& cross = std::get<CrossAttention>(*LayerOf(imported, 1).attention);
  EXPECT_EQ(cross, (CrossAttention{4, 2, 2, QkNorm::kPerHead}));
  // 8 rows more; norms of 2 for queries and keys; two gates.
  EXPECT_EQ(imported.graph.ParameterCount(),
            80 + 64 + 80 + 3 * (192 + 384 + 16) + 4 + 2 + 8);
}

TEST(HfSpecialsTest, BlocksOfTheirOwn) {
  const char* blocks = R"([
      {"attention": {"n_heads_in_group": 2, "no_op": false},
       "ffn": {"ffn_mult": 48.0, "no_op": false}},
      {"attention": {"n_heads_in_group": null, "no_op": true},
       "ffn": {"ffn_mult": 100.0, "no_op": false}},
      {"attention": {"n_heads_in_group": 4, "no_op": false},
       "ffn": {"ffn_mult": null, "no_op": true}}])";
  const Keys keys = {{"attention_bias", "false"},
                     {"mlp_bias", "false"},
                     {"num_key_value_heads", "null"},
                     {"intermediate_size", "null"},
                     {"block_configs", blocks}};
  const ImportedConfig imported =
      ImportOrDie(Config("DeciLMForCausalLM", keys));
  EXPECT_THAT(KindsOf(imported), ElementsAre("dense", "mlp", "attention"));
  EXPECT_EQ(GroupedOf(LayerOf(imported, 0)).kv_heads, 2);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 2)).kv_heads, 1);
  // 2 x 48 x 8 / 3 = 256; 533 is rounded up to 768.
  EXPECT_EQ(DenseOf(LayerOf(imported, 0)).intermediate_size, 256);
  EXPECT_EQ(DenseOf(LayerOf(imported, 1)).intermediate_size, 768);
  // A part that is missing has no norm.
  EXPECT_EQ(imported.graph.ParameterCount(),
            160 + (192 + 6144 + 16) + (18432 + 8) + (160 + 8) + 8);

  Keys linear = keys;
  linear["num_hidden_layers"] = "1";
  linear["block_configs"] =
      R"([{"attention": {"replace_with_linear": true, "no_op": true},
           "ffn": {"ffn_mult": 1.5}}])";
  EXPECT_THAT(Refusals(Config("DeciLMForCausalLM", linear)),
              ElementsAre("block_configs[0].attention.replace_with_linear: is "
                          "true; only false and null are known"));
  linear["block_configs"] = "";
  EXPECT_THAT(Refusals(Config("DeciLMForCausalLM", linear)),
              ElementsAre("block_configs: is missing; must be a list of "
                          "objects"));
}

std::string Indexed32(const Keys& changes) {
  Keys keys = {{"num_hidden_layers", "6"},     {"n_routed_experts", "8"},
               {"num_experts_per_tok", "2"},   {"moe_intermediate_size", "4"},
               {"first_k_dense_replace", "6"}, {"q_lora_rank", "6"},
               {"kv_lora_rank", "4"},          {"qk_nope_head_dim", "2"},
               {"qk_rope_head_dim", "1"},      {"v_head_dim", "2"},
               {"index_n_heads", "3"},         {"index_head_dim", "5"},
               {"index_topk", "16"},           {"n_shared_experts", "1"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return Config("GlmMoeDsaForCausalLM", keys);
}

// Heads of each layer's indexer; 0: an earlier layer's choice.
std::vector<int> IndexerHeads(const std::string& text) {
  const ImportedConfig imported = ImportOrDie(text);
  std::vector<int> heads;
  for (size_t i = 0; i < 6; ++i) {
    const auto& attention =
        std::get<LatentAttention>(*LayerOf(imported, i).attention);
    EXPECT_EQ(attention.indexer->top_k, 16);
    heads.push_back(attention.indexer->heads);
  }
  return heads;
}

TEST(HfSpecialsTest, IndexersThatLayersShare) {
  EXPECT_THAT(IndexerHeads(Indexed32({})), ElementsAre(3, 3, 3, 3, 3, 3));
  EXPECT_THAT(
      IndexerHeads(Indexed32(
          {{"indexer_types",
            R"(["full", "shared", "shared", "full", "shared", "full"])"}})),
      ElementsAre(3, 0, 0, 3, 0, 3));
  EXPECT_THAT(IndexerHeads(Indexed32({{"index_topk_pattern", "\"FSFSSS\""}})),
              ElementsAre(3, 0, 3, 0, 0, 0));
  // Up to layer 1 each its own; then every third.
  EXPECT_THAT(IndexerHeads(Indexed32(
                  {{"index_topk_freq", "3"}, {"index_skip_topk_offset", "2"}})),
              ElementsAre(3, 3, 0, 0, 3, 0));
}

std::string Gemma4(const Keys& changes) {
  Keys keys = {{"num_hidden_layers", "4"},
               {"attention_bias", "false"},
               {"sliding_window", "64"},
               {"layer_types",
                R"(["sliding_attention", "full_attention",
                    "sliding_attention", "full_attention"])"},
               {"global_head_dim", "4"},
               {"num_global_key_value_heads", "1"},
               {"attention_k_eq_v", "true"},
               {"hidden_size_per_layer_input", "0"},
               {"num_kv_shared_layers", "0"},
               {"enable_moe_block", "false"},
               {"use_double_wide_mlp", "false"},
               {"num_experts", "null"},
               {"tie_word_embeddings", "true"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return Config("Gemma4ForCausalLM", keys);
}

TEST(HfSpecialsTest, FullLayersWithHeadsOfTheirOwn) {
  const ImportedConfig imported = ImportOrDie(Gemma4({}));
  EXPECT_THAT(KindsOf(imported),
              ElementsAre("window", "dense", "window", "dense"));
  const GroupedQueryAttention& full = GroupedOf(LayerOf(imported, 1));
  EXPECT_EQ(full.head_size, 4);
  EXPECT_EQ(full.kv_heads, 1);
  EXPECT_TRUE(full.value_from_key);
  EXPECT_EQ(full.nope_head_size, 3);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 0)).head_size, 2);
  // Window: 192 and norms of 2 x 2; full: q and o 2 x 8x16, k 8x4, norms of
  // 2 x 4. Four norms of 8 and a scale each.
  EXPECT_EQ(imported.graph.ParameterCount(),
            80 + 2 * (192 + 4) + 2 * (256 + 32 + 8) + 4 * (384 + 32 + 1) + 8);
}

TEST(HfSpecialsTest, SharedKeysLeaveNothingToProject) {
  const ImportedConfig imported =
      ImportOrDie(Gemma4({{"num_kv_shared_layers", "2"}}));
  EXPECT_TRUE(GroupedOf(LayerOf(imported, 1)).value_from_key);
  EXPECT_TRUE(GroupedOf(LayerOf(imported, 3)).shared_kv);
  EXPECT_FALSE(GroupedOf(LayerOf(imported, 3)).value_from_key);
}

TEST(HfSpecialsTest, SharedKvAndInputsOfEachLayer) {
  const ImportedConfig imported =
      ImportOrDie(Gemma4({{"attention_k_eq_v", "false"},
                          {"num_kv_shared_layers", "2"},
                          {"use_double_wide_mlp", "true"},
                          {"hidden_size_per_layer_input", "4"},
                          {"vocab_size_per_layer_input", "12"}}));
  EXPECT_EQ(imported.graph.spec().layer_input_size, 4);
  EXPECT_EQ(imported.graph.spec().layer_input_rows, 12);
  EXPECT_FALSE(GroupedOf(LayerOf(imported, 1)).shared_kv);
  EXPECT_TRUE(GroupedOf(LayerOf(imported, 2)).shared_kv);
  EXPECT_TRUE(GroupedOf(LayerOf(imported, 3)).shared_kv);
  EXPECT_FALSE(GroupedOf(LayerOf(imported, 3)).value_from_key);
  EXPECT_EQ(GroupedOf(LayerOf(imported, 3)).kv_heads, 2);
  EXPECT_EQ(DenseOf(LayerOf(imported, 1)).intermediate_size, 16);
  EXPECT_EQ(DenseOf(LayerOf(imported, 2)).intermediate_size, 32);
}

TEST(HfSpecialsTest, ExpertsBesideADensePart) {
  const ImportedConfig imported =
      ImportOrDie(Gemma4({{"enable_moe_block", "true"},
                          {"num_experts", "8"},
                          {"top_k_experts", "2"},
                          {"moe_intermediate_size", "4"}}));
  EXPECT_THAT(KindsOf(imported),
              ElementsAre("window-moe", "moe", "window-moe", "moe"));
  const auto& experts =
      std::get<MixtureOfExperts>(LayerOf(imported, 0).feed_forward);
  EXPECT_EQ(experts.shared_intermediate_size, 16);
  EXPECT_TRUE(experts.separate_norms);
  // The layer's scale, the router's of its input and of each expert.
  EXPECT_EQ(LayerOf(imported, 0).extra_parameters, 1 + 8 + 8);
}

TEST(HfSpecialsTest, TheLastLayerIsFull) {
  EXPECT_THAT(
      ImportOrDie(Gemma4({{"layer_types", ""}, {"num_hidden_layers", "5"}}))
          .assumptions,
      Contains("the last layer has no window, as the class always has "
               "it"));
}

TEST(HfSpecialsTest, RemovedFinalNorm) {
  const std::string text =
      R"({"model_type": "opt", "hidden_size": 8, "ffn_dim": 16,
          "num_hidden_layers": 1, "num_attention_heads": 4, "vocab_size": 10,
          "max_position_embeddings": 64, "_remove_final_layer_norm": true})";
  EXPECT_FALSE(ImportOrDie(text).graph.spec().final_norm);
}

}  // namespace
}  // namespace mansard::model
