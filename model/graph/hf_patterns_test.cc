// Which layers of a hybrid have which part, and what is wrong with files that
// do not say it.
#include "model/graph/hf_patterns.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

// One letter a layer: a (attention), r (recurrent), - (neither), b (both); in
// capitals where the layer has experts, and - with experts is E.
std::string Layers(const ImportedConfig& imported) {
  std::string text;
  const ModelGraphSpec& spec = imported.graph.spec();
  for (const int index : spec.layer_kind_indexes) {
    const LayerKind& kind = spec.layer_kinds[static_cast<size_t>(index)];
    const bool experts =
        std::holds_alternative<MixtureOfExperts>(kind.feed_forward);
    char letter = experts ? 'E' : '-';
    if (kind.attention.has_value()) letter = experts ? 'A' : 'a';
    if (kind.recurrent.has_value()) letter = experts ? 'R' : 'r';
    if (kind.attention.has_value() && kind.recurrent.has_value()) letter = 'b';
    text += letter;
  }
  return text;
}

Keys With(Keys keys, const Keys& changes) {
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

const Keys kDeltaKeys = {{"num_hidden_layers", "6"}};
const Keys kJambaKeys = {{"num_hidden_layers", "6"},
                         {"head_dim", ""},
                         {"mamba_dt_rank", "2"},
                         {"num_experts", "4"}};
const Keys kMambaKeys2 = {{"mamba_n_heads", "4"}, {"mamba_d_state", "3"}};
const Keys kKimiKeys = {{"num_hidden_layers", "4"}, {"kv_lora_rank", "3"},
                        {"qk_nope_head_dim", "2"},  {"qk_rope_head_dim", "1"},
                        {"v_head_dim", "2"},        {"num_experts", "null"}};
const Keys kBlockKeys = {{"num_hidden_layers", ""},
                         {"mamba_num_heads", "4"},
                         {"mamba_head_dim", "4"},
                         {"n_groups", "2"},
                         {"ssm_state_size", "3"},
                         {"n_routed_experts", "4"},
                         {"num_experts_per_tok", "2"},
                         {"moe_intermediate_size", "5"},
                         {"moe_shared_expert_intermediate_size", "6"}};

struct Pattern {
  std::string architecture;
  Keys keys;
  std::string layers;
};

TEST(HybridPatterns, PlaceTheMixers) {
  const std::vector<Pattern> patterns = {
      {"Qwen3_5ForCausalLM", kDeltaKeys, "rrrarr"},
      {"Qwen3_5ForCausalLM",
       With(kDeltaKeys, {{"full_attention_interval", "2"}}), "rarara"},
      {"Qwen3_5ForCausalLM",
       With(kDeltaKeys,
            {{"layer_types",
              R"(["full_attention", "linear_attention", "linear_attention",
                  "linear_attention", "full_attention", "linear_attention"])"},
             {"full_attention_interval", "2"}}),
       "arrrar"},
      {"Qwen3NextForCausalLM",
       With(kDeltaKeys, {{"num_experts", "4"},
                         {"num_experts_per_tok", "2"},
                         {"decoder_sparse_step", "2"}}),
       "rRrArR"},
      {"JambaForCausalLM", kJambaKeys, "rRrRaR"},
      {"JambaForCausalLM",
       With(kJambaKeys, {{"attn_layer_period", "3"},
                         {"attn_layer_offset", "0"},
                         {"expert_layer_period", "4"},
                         {"expert_layer_offset", "3"}}),
       "arrArr"},
      {"JambaForCausalLM", With(kJambaKeys, {{"num_experts", "1"}}), "rrrrar"},
      {"BambaForCausalLM",
       With(kMambaKeys2, {{"attn_layer_indices", "[2, 0]"}}), "ara"},
      {"BambaForCausalLM", kMambaKeys2, "rrr"},
      {"GraniteMoeHybridForCausalLM",
       With(kMambaKeys2, {{"layer_types", R"(["mamba", "attention", "mamba"])"},
                          {"num_local_experts", "0"},
                          {"shared_intermediate_size", "6"}}),
       "rar"},
      {"GraniteMoeHybridForCausalLM",
       With(kMambaKeys2, {{"layer_types",
                           R"(["linear_attention", "full_attention",
                               "full_attention"])"},
                          {"num_local_experts", "4"}}),
       "RAA"},
      {"FalconH1ForCausalLM", With(kMambaKeys2, {{"mamba_d_ssm", "16"}}),
       "bbb"},
      {"MiniMaxM1ForCausalLM",
       {{"attn_type_list", "[0, 1, 0]"}, {"num_local_experts", "4"}},
       "RAR"},
      {"MiniMaxForCausalLM", {{"num_local_experts", "4"}}, "ARA"},
      {"KimiLinearForCausalLM",
       With(kKimiKeys, {{"linear_attn_config",
                         R"({"full_attn_layers": [4, 2], "kda_layers": [1, 3],
                             "num_heads": 2, "head_dim": 3})"}}),
       "rara"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"hybrid_override_pattern", "\"ME-*M\""}}), "rE-ar"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"layers_block_type",
                          R"(["mamba", "moe", "mlp", "attention",
                              "linear_attention", "full_attention"])"}}),
       "rE-ara"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"hybrid_override_pattern", "\"M*\""},
                         {"layers_block_type", R"(["mamba", "attention"])"},
                         {"num_hidden_layers", "2"}}),
       "ra"},
  };
  for (const Pattern& p : patterns) {
    EXPECT_EQ(Layers(ImportOrDie(Config(p.architecture, p.keys))), p.layers)
        << p.architecture;
  }
}

struct Malformed {
  std::string architecture;
  Keys keys;
  std::string refusal;
};

TEST(HybridPatterns, RefuseWhatTheyCannotRead) {
  const std::vector<Malformed> cases = {
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"hybrid_override_pattern", "\"M*X\""}}),
       "hybrid_override_pattern: has \"X\" at position 3; allowed: M (Mamba "
       "2), * (attention), - (dense feed-forward), E (experts)"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"hybrid_override_pattern", "\"M*\""},
                         {"num_hidden_layers", "3"}}),
       "hybrid_override_pattern: has 2 entries; num_hidden_layers is 3"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"layers_block_type", R"(["mamba", "rnn"])"}}),
       "layers_block_type: has \"rnn\" for layer 1; allowed: mamba, "
       "linear_attention, attention, full_attention, mlp, moe"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"hybrid_override_pattern", "\"M*\""},
                         {"layers_block_type", R"(["mamba", "mlp"])"}}),
       "hybrid_override_pattern: says other layers than layers_block_type"},
      {"NemotronHForCausalLM", kBlockKeys,
       "hybrid_override_pattern: is missing, and so is layers_block_type"},
      {"NemotronHForCausalLM",
       With(kBlockKeys, {{"hybrid_override_pattern", "\"ME\""},
                         {"num_nextn_predict_layers", "1"},
                         {"mtp_hybrid_override_pattern", "\"?\""}}),
       "mtp_hybrid_override_pattern: has \"?\" at position 1; allowed: M "
       "(Mamba 2), * (attention), - (dense feed-forward), E (experts)"},
      {"Qwen3_5ForCausalLM",
       With(kDeltaKeys, {{"layer_types", R"(["full_attention"])"}}),
       "layer_types: has 1 entries; num_hidden_layers is 6"},
      {"Qwen3_5ForCausalLM",
       {{"layer_types",
         R"(["full_attention", "linear_attention", "sliding_attention"])"}},
       "layer_types: has \"sliding_attention\" for layer 2; allowed: "
       "full_attention, attention, linear_attention, mamba"},
      {"JambaForCausalLM", With(kJambaKeys, {{"attn_layer_offset", "8"}}),
       "attn_layer_offset: is 8; must be less than attn_layer_period, 8"},
      {"MiniMaxM1ForCausalLM",
       {{"attn_type_list", "[0, 1]"}, {"num_local_experts", "4"}},
       "attn_type_list: has 2 entries; num_hidden_layers is 3"},
      {"BambaForCausalLM",
       With(kMambaKeys2, {{"attn_layer_indices", "[1, 1]"}}),
       "attn_layer_indices: names layer 1, which is named already"},
      {"KimiLinearForCausalLM",
       With(kKimiKeys, {{"linear_attn_config",
                         R"({"full_attn_layers": [4, 2], "kda_layers": [1, 2],
                             "num_heads": 2, "head_dim": 3})"}}),
       "linear_attn_config.kda_layers: names layer 2, which is named already"},
      {"KimiLinearForCausalLM",
       With(kKimiKeys, {{"linear_attn_config",
                         R"({"full_attn_layers": [4, 2], "kda_layers": [1],
                             "num_heads": 2, "head_dim": 3})"}}),
       "linear_attn_config.kda_layers: leaves out layer 3, which "
       "linear_attn_config.full_attn_layers does not name either"},
      {"KimiLinearForCausalLM",
       With(kKimiKeys, {{"linear_attn_config",
                         R"({"full_attn_layers": [1, 2, 3, 4],
                             "num_heads": 2, "head_dim": 3})"}}),
       "linear_attn_config.kda_layers: is missing"},
  };
  for (const Malformed& c : cases) {
    EXPECT_THAT(Refusals(Config(c.architecture, c.keys)), Contains(c.refusal))
        << c.refusal;
  }
}

// Lists of layers out of range.
TEST(HybridPatterns, RefuseLayersBeyondTheLast) {
  EXPECT_THAT(
      Refusals(Config("BambaForCausalLM",
                      With(kMambaKeys2, {{"attn_layer_indices", "[3]"}}))),
      Not(IsEmpty()));
  EXPECT_THAT(Refusals(Config("KimiLinearForCausalLM",
                              With(kKimiKeys, {{"linear_attn_config",
                                                R"({"full_attn_layers": [0],
                                            "kda_layers": [1, 2, 3, 5],
                                            "num_heads": 2, "head_dim": 3})"}}))),
              Not(IsEmpty()));
}

}  // namespace
}  // namespace mansard::model
