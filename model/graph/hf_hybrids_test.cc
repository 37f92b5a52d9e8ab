// Whole small hybrids: parts of the layers, parameters, drafting modules.
// Counts are sums of the matrices that the classes' modeling files make, by
// hand.
#include "model/graph/hf_hybrids.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::Contains;

// Tables and last norm: vocabulary 10, hidden size 8, head not tied.
constexpr int64_t kAround = 2 * 80 + 8;
// 4 query heads and 2 KV heads of size 2: q, k, v, output.
constexpr int64_t kAttention = 8 * 8 + 2 * 8 * 4 + 8 * 8;
constexpr int64_t kTwoNorms = 2 * 8;

Keys With(Keys keys, const Keys& changes) {
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

const LayerKind& KindOf(const ImportedConfig& imported, size_t layer) {
  const ModelGraphSpec& spec = imported.graph.spec();
  return spec.layer_kinds[static_cast<size_t>(spec.layer_kind_indexes[layer])];
}

const Keys kDeltaKeys = {{"num_hidden_layers", "4"},
                         {"full_attention_interval", "4"},
                         {"linear_num_key_heads", "2"},
                         {"linear_num_value_heads", "4"},
                         {"linear_key_head_dim", "2"},
                         {"linear_value_head_dim", "3"},
                         {"linear_conv_kernel_dim", "4"},
                         {"num_experts", "4"},
                         {"num_experts_per_tok", "2"},
                         {"moe_intermediate_size", "5"},
                         {"shared_expert_intermediate_size", "6"},
                         {"partial_rotary_factor", "0.5"}};

TEST(GatedDeltaImport, CountsEachPart) {
  const ImportedConfig imported =
      ImportOrDie(Config("Qwen3NextForCausalLM", kDeltaKeys));
  // The gate doubles the queries; norms of one query and one key head.
  const int64_t attention = kAttention + 8 * 8 + 2 * 2;
  // q, k (2 heads x 2), v, z (4 x 3); b, a; convolution of q, k, v; A_log,
  // dt_bias; norm of a head; output.
  const int64_t delta =
      8 * (4 + 4 + 12 + 12) + 8 * 8 + 20 * 4 + 2 * 4 + 3 + 12 * 8;
  const int64_t experts = 8 * 4 + 4 * 3 * 8 * 5 + 3 * 8 * 6 + 8;
  const ModelGraph& graph = imported.graph;
  EXPECT_EQ(graph.ParameterCount(),
            3 * delta + attention + 4 * (experts + kTwoNorms) + kAround);
  EXPECT_EQ(graph.ParameterCount() - graph.ActiveParameterCount(),
            4 * 2 * 3 * 8 * 5);
  // One module, which the file does not speak of: full attention and experts,
  // two norms on the way in and one on the way out, a projection of both.
  EXPECT_EQ(graph.MtpParameterCount(),
            attention + experts + kTwoNorms + 2 * 8 * 8 + 3 * 8);
  EXPECT_THAT(imported.assumptions,
              Contains("mtp_num_hidden_layers is absent: one module for the "
                       "token after the next, as in the published checkpoints "
                       "of this class"));
  const auto& gqa =
      std::get<GroupedQueryAttention>(*KindOf(imported, 3).attention);
  EXPECT_TRUE(gqa.output_gate);
  EXPECT_EQ(gqa.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(gqa.nope_head_size, 1);
}

TEST(GatedDeltaImport, DraftingModulesAreAsWritten) {
  const ImportedConfig none =
      ImportOrDie(Config("Qwen3NextForCausalLM",
                         With(kDeltaKeys, {{"mtp_num_hidden_layers", "0"}})));
  EXPECT_EQ(none.graph.spec().mtp.modules, 0);
  EXPECT_EQ(none.graph.MtpParameterCount(), 0);
  const ImportedConfig own = ImportOrDie(
      Config("Qwen3NextForCausalLM",
             With(kDeltaKeys, {{"mtp_num_hidden_layers", "1"},
                               {"mtp_use_dedicated_embeddings", "true"}})));
  EXPECT_TRUE(own.graph.spec().mtp.own_embedding);
}

TEST(GatedDeltaImport, ReadsTheTextPartOfAWrapper) {
  const std::string inner = Config("Qwen3_5ForConditionalGeneration",
                                   {{"num_hidden_layers", "4"},
                                    {"architectures", ""},
                                    {"model_type", "\"qwen3_5_text\""},
                                    {"linear_num_key_heads", "2"},
                                    {"linear_num_value_heads", "4"},
                                    {"mtp_num_hidden_layers", "1"},
                                    {"mamba_ssm_dtype", "\"float32\""},
                                    {"tie_word_embeddings", ""},
                                    {"attn_output_gate", "false"}});
  const ImportedConfig imported = ImportOrDie(
      R"({"architectures": ["Qwen3_5ForConditionalGeneration"],
          "model_type": "qwen3_5", "tie_word_embeddings": true,
          "vision_config": {"depth": 2, "hidden_size": 6}, "text_config": )" +
      inner + "}");
  const ModelGraphSpec& spec = imported.graph.spec();
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(spec.native_precision.state, Format::kFp32);
  EXPECT_EQ(spec.mtp.modules, 1);
  EXPECT_FALSE(std::get<GroupedQueryAttention>(*KindOf(imported, 3).attention)
                   .output_gate);
  EXPECT_TRUE(std::holds_alternative<DenseFeedForward>(
      KindOf(imported, 0).feed_forward));
}

TEST(PeriodicMambaImport, CountsEachPart) {
  const ImportedConfig imported =
      ImportOrDie(Config("JambaForCausalLM", {{"num_hidden_layers", "4"},
                                              {"attn_layer_period", "2"},
                                              {"attn_layer_offset", "1"},
                                              {"expert_layer_period", "2"},
                                              {"expert_layer_offset", "0"},
                                              {"mamba_d_state", "3"},
                                              {"mamba_d_conv", "4"},
                                              {"mamba_expand", "2"},
                                              {"mamba_dt_rank", "2"},
                                              {"num_experts", "4"},
                                              {"num_experts_per_tok", "2"}}));
  // x and gate; convolution; x_proj; dt_proj; A; D; output; three norms.
  const int64_t mamba = 8 * 32 + 16 * 5 + 16 * (2 + 6) + 2 * 16 + 16 + 16 * 3 +
                        16 + 16 * 8 + (2 + 3 + 3);
  const int64_t expert = 3 * 8 * 16;
  EXPECT_EQ(imported.graph.ParameterCount(),
            2 * mamba + 2 * kAttention + 2 * (8 * 4 + 4 * expert) + 2 * expert +
                4 * kTwoNorms + kAround);
  // No rotation anywhere.
  EXPECT_EQ(std::get<GroupedQueryAttention>(*KindOf(imported, 1).attention)
                .nope_head_size,
            2);
}

TEST(GraniteHybridImport, RotatesOnlyWhereTheFileSaysSo) {
  const Keys keys = {{"layer_types", R"(["attention", "mamba", "mamba"])"},
                     {"mamba_n_heads", "4"},
                     {"num_local_experts", "4"},
                     {"num_experts_per_tok", "2"},
                     {"shared_intermediate_size", "6"},
                     {"mamba_d_state", "3"}};
  const auto nope = [](const ImportedConfig& imported) {
    return std::get<GroupedQueryAttention>(*KindOf(imported, 0).attention)
        .nope_head_size;
  };
  const std::string architecture = "GraniteMoeHybridForCausalLM";
  EXPECT_EQ(nope(ImportOrDie(Config(architecture, keys))), 2);
  EXPECT_EQ(nope(ImportOrDie(
                Config(architecture,
                       With(keys, {{"position_embedding_type", "\"nope\""}})))),
            2);
  EXPECT_EQ(nope(ImportOrDie(
                Config(architecture,
                       With(keys, {{"position_embedding_type", "\"rope\""}})))),
            0);
  const auto experts = std::get<MixtureOfExperts>(
      KindOf(ImportOrDie(Config(architecture, keys)), 1).feed_forward);
  EXPECT_EQ(experts.expert_intermediate_size, 16);
  EXPECT_EQ(experts.shared_intermediate_size, 6);
}

TEST(GraniteHybridImport, SharedExpertsAloneAreDense) {
  const ImportedConfig imported = ImportOrDie(
      Config("GraniteMoeHybridForCausalLM",
             {{"layer_types", R"(["attention", "attention", "attention"])"},
              {"mamba_n_heads", "4"},
              {"mamba_d_head", "4"},
              {"num_local_experts", "0"},
              {"num_experts_per_tok", "0"},
              {"shared_intermediate_size", "6"}}));
  EXPECT_EQ(imported.graph.ParameterCount(),
            3 * (kAttention + 3 * 8 * 6 + kTwoNorms) + kAround);
  EXPECT_THAT(imported.ignored_keys, Contains("mamba_n_heads"));
}

TEST(SideBySideImport, BothMixersReadOneNorm) {
  const ImportedConfig imported =
      ImportOrDie(Config("FalconH1ForCausalLM", {{"mamba_n_heads", "4"},
                                                 {"mamba_d_head", "4"},
                                                 {"mamba_d_ssm", "16"},
                                                 {"mamba_n_groups", "1"},
                                                 {"mamba_d_state", "3"},
                                                 {"mamba_d_conv", "4"},
                                                 {"mamba_rms_norm", "true"}}));
  const int64_t mamba = 8 * (16 + 6 + 16 + 4) + 22 * 5 + 3 * 4 + 16 + 16 * 8;
  EXPECT_EQ(imported.graph.ParameterCount(),
            3 * (mamba + kAttention + 3 * 8 * 16 + kTwoNorms) + kAround);
}

TEST(LightningImport, CountsEachPart) {
  const ImportedConfig imported = ImportOrDie(
      Config("MiniMaxText01ForCausalLM", {{"attn_type_list", "[0, 0, 1]"},
                                          {"num_local_experts", "4"},
                                          {"num_experts_per_tok", "2"},
                                          {"shared_intermediate_size", "0"},
                                          {"rotary_dim", "1"}}));
  // q, k, v, gate of 4 heads x 2; norm over all of them; output.
  const int64_t lightning = 4 * 8 * 8 + 8 + 8 * 8;
  const int64_t experts = 8 * 4 + 4 * 3 * 8 * 16;
  EXPECT_EQ(imported.graph.ParameterCount(),
            2 * lightning + kAttention + 3 * (experts + kTwoNorms) + kAround);
  EXPECT_EQ(KindOf(imported, 0).recurrent->rule, StateRule::kDecay);
  EXPECT_EQ(KindOf(imported, 0).recurrent->state_elements(), 4 * 2 * 2);
}

const Keys kKimiKeys = {
    {"num_hidden_layers", "2"},
    {"kv_lora_rank", "3"},
    {"q_lora_rank", "null"},
    {"qk_nope_head_dim", "2"},
    {"qk_rope_head_dim", "1"},
    {"v_head_dim", "2"},
    {"num_experts", "4"},
    {"num_experts_per_token", "2"},
    {"moe_intermediate_size", "5"},
    {"num_shared_experts", "1"},
    {"first_k_dense_replace", "1"},
    {"mla_use_nope", "true"},
    {"linear_attn_config",
     R"({"full_attn_layers": [2], "kda_layers": [1], "num_heads": 2,
         "head_dim": 3, "short_conv_kernel_size": 4})"}};
// q, k, v of 2 heads x 3; their convolution; decays of rank 3 with a bias; b,
// A_log; norm of a head; output. The gate is apart.
constexpr int64_t kKda =
    3 * 8 * 6 + 18 * 4 + (8 * 3 + 3 * 6 + 6) + 8 * 2 + 2 + 3 + 6 * 8;
constexpr int64_t kLowRankGate = 8 * 3 + 3 * 6;
// Queries; latent and its norm; keys and values from it; output.
constexpr int64_t kMla = 8 * 12 + 8 * 4 + 3 + 3 * 4 * 4 + 8 * 8;

TEST(KimiDeltaImport, CountsEachPart) {
  const ImportedConfig imported =
      ImportOrDie(Config("KimiLinearForCausalLM", kKimiKeys));
  EXPECT_EQ(imported.graph.ParameterCount(),
            kKda + kLowRankGate + 3 * 8 * 16 + kMla +
                (8 * 4 + 4 * 3 * 8 * 5 + 3 * 8 * 5) + 2 * kTwoNorms + kAround);
  const auto& mla = std::get<LatentAttention>(*KindOf(imported, 1).attention);
  EXPECT_TRUE(mla.unrotated);
  EXPECT_FALSE(mla.output_gate);
}

TEST(KimiDeltaImport, ReadsWhatK3Adds) {
  const ImportedConfig imported = ImportOrDie(Config(
      "KimiLinearForCausalLM",
      With(kKimiKeys,
           {{"routed_expert_hidden_size", "4"},
            {"latent_moe_use_norm", "true"},
            {"mla_use_output_gate", "true"},
            {"attn_res_block_size", "12"},
            {"linear_attn_config",
             R"({"full_attn_layers": [2], "kda_layers": [1], "num_heads": 2,
                 "head_dim": 3, "use_full_rank_gate": true})"}})));
  // Experts work on 4 elements, with a way in and out and a norm; attention
  // residuals have a query and a norm before each part and before the end.
  const int64_t experts = 8 * 4 + 2 * 8 * 4 + 4 + 4 * 3 * 4 * 5 + 3 * 8 * 5;
  EXPECT_EQ(imported.graph.ParameterCount(),
            kKda + 8 * 6 + 3 * 8 * 16 + kMla + 8 * 8 + experts + 2 * kTwoNorms +
                2 * 4 * 8 + 2 * 8 + kAround);
  EXPECT_THAT(imported.assumptions,
              Contains("attn_res_block_size: attention residuals count 4 x "
                       "hidden_size weights a layer and 2 x hidden_size before "
                       "the last norm; their work is not modelled"));
}

}  // namespace
}  // namespace mansard::model
