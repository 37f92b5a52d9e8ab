// Recurrent mixers of config.json files, key by key.
#include "model/graph/hf_recurrent.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// A Mamba 2 model: hidden size 8, inner width 16.
Keys Mamba2File(const Keys& changes = {}) {
  Keys keys = {{"intermediate_size", ""},
               {"num_attention_heads", ""},
               {"num_key_value_heads", ""},
               {"num_heads", "4"},
               {"head_dim", "4"},
               {"n_groups", "2"},
               {"state_size", "3"},
               {"conv_kernel", "5"},
               {"expand", "2"},
               {"use_bias", "false"},
               {"use_conv_bias", "true"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

// A Mamba model: hidden size 8.
Keys MambaFile(const Keys& changes = {}) {
  Keys keys = {{"intermediate_size", ""},
               {"num_attention_heads", ""},
               {"num_key_value_heads", ""},
               {"head_dim", ""},
               {"state_size", "3"},
               {"conv_kernel", "4"},
               {"expand", "2"},
               {"time_step_rank", "5"},
               {"use_bias", "false"},
               {"use_conv_bias", "true"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

// Attention beside Mamba 2 of inner width 16.
Keys SideBySideFile(const Keys& changes = {}) {
  Keys keys = {{"mamba_n_heads", "4"},    {"mamba_d_head", "4"},
               {"mamba_n_groups", "1"},   {"mamba_d_state", "3"},
               {"mamba_d_conv", "4"},     {"mamba_d_ssm", "16"},
               {"mamba_rms_norm", "true"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

RecurrentMixer OnlyMixer(const std::string& text) {
  const ImportedConfig imported = ImportOrDie(text);
  const LayerKind& kind = OnlyKind(imported);
  EXPECT_TRUE(kind.recurrent.has_value());
  return *kind.recurrent;
}

TEST(Mamba2Import, ReadsEachKey) {
  const ImportedConfig imported =
      ImportOrDie(Config("Mamba2ForCausalLM", Mamba2File()));
  const LayerKind& kind = OnlyKind(imported);
  EXPECT_FALSE(kind.attention.has_value());
  EXPECT_FALSE(kind.has_feed_forward());
  RecurrentMixer expected;
  expected.rule = StateRule::kMamba2;
  expected.heads = 4;
  expected.value_size = 4;
  expected.key_heads = 2;
  expected.key_size = 3;
  expected.conv_kernel = 5;
  expected.conv_bias = true;
  expected.output_norm = QkNorm::kAllHeads;
  EXPECT_EQ(*kind.recurrent, expected);
  // x, B and C: 16 + 2 x 2 x 3; gate 16; time steps 4. Convolution 28 x (5 +
  // 1). A, D and dt_bias; norm 16; out 16 x 8. Norm of the layer 8.
  const int64_t layer = 8 * (28 + 16 + 4) + 28 * 6 + 3 * 4 + 16 + 16 * 8 + 8;
  EXPECT_EQ(imported.graph.ParameterCount(), 3 * layer + 8 + 2 * 80);
}

TEST(Mamba2Import, BiasesAndNormsAreSwitches) {
  EXPECT_TRUE(
      OnlyMixer(Config("Mamba2ForCausalLM", Mamba2File({{"use_bias", "true"}})))
          .projection_bias);
  EXPECT_FALSE(OnlyMixer(Config("Mamba2ForCausalLM",
                                Mamba2File({{"use_conv_bias", "false"}})))
                   .conv_bias);
  EXPECT_EQ(OnlyMixer(Config("FalconH1ForCausalLM",
                             SideBySideFile({{"mamba_rms_norm", "false"}})))
                .output_norm,
            QkNorm::kNone);
}

TEST(Mamba2Import, HeadSizeIsLeftToTheClass) {
  const RecurrentMixer mixer = OnlyMixer(Config(
      "FalconH1ForCausalLM",
      SideBySideFile({{"mamba_d_head", "\"auto\""}, {"mamba_d_ssm", "12"}})));
  EXPECT_EQ(mixer.value_size, 3);
  EXPECT_EQ(OnlyMixer(Config("FalconH1ForCausalLM",
                             SideBySideFile({{"mamba_d_head", ""},
                                             {"mamba_d_ssm", ""},
                                             {"mamba_expand", "4"}})))
                .value_size,
            8);
}

TEST(Mamba2Import, RefusesSizesThatContradict) {
  struct Case {
    std::string architecture;
    Keys keys;
    std::string refusal;
  };
  const std::vector<Case> cases = {
      {"Mamba2ForCausalLM", Mamba2File({{"head_dim", "5"}}),
       "head_dim: is 5; times 4 heads it must be expand x hidden size, 16"},
      {"Mamba2ForCausalLM", Mamba2File({{"intermediate_size", "17"}}),
       "intermediate_size: is 17, but expand x hidden size is 16"},
      {"Mamba2ForCausalLM", Mamba2File({{"n_groups", "3"}}),
       "n_groups: is 3; must divide the number of heads, 4"},
      {"FalconH1ForCausalLM", SideBySideFile({{"mamba_d_ssm", "20"}}),
       "mamba_d_head: is 4; times 4 heads it must be mamba_d_ssm, 20"},
      {"FalconH1ForCausalLM",
       SideBySideFile({{"mamba_d_head", "\"auto\""}, {"mamba_d_ssm", "15"}}),
       "mamba_n_heads: is 4; must divide mamba_d_ssm, 15"},
      {"FalconH1ForCausalLM", SideBySideFile({{"projectors_bias", "true"}}),
       "projectors_bias: is true, but mamba_proj_bias is not; both alike are "
       "read"},
      {"FalconH1ForCausalLM", SideBySideFile({{"attn_layer_indices", "[1]"}}),
       "attn_layer_indices: is a list; only attention in every layer is read"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(Refusals(Config(c.architecture, c.keys)), Contains(c.refusal))
        << c.refusal;
  }
}

TEST(MambaImport, ReadsEachKey) {
  const ImportedConfig imported =
      ImportOrDie(Config("MambaForCausalLM", MambaFile()));
  RecurrentMixer expected;
  expected.rule = StateRule::kMamba;
  expected.heads = 16;
  expected.key_heads = 1;
  expected.key_size = 3;
  expected.value_size = 1;
  expected.conv_kernel = 4;
  expected.conv_bias = true;
  expected.decay_rank = 5;
  EXPECT_EQ(*OnlyKind(imported).recurrent, expected);
  // x and gate; convolution; x_proj; dt_proj with bias; A; D; out; norm.
  const int64_t layer = 8 * 32 + 16 * 5 + 16 * (5 + 2 * 3) + 5 * 16 + 16 +
                        16 * 3 + 16 + 16 * 8 + 8;
  EXPECT_EQ(imported.graph.ParameterCount(), 3 * layer + 8 + 2 * 80);
}

TEST(MambaImport, WidthAndRankMayBeWrittenOrFollow) {
  EXPECT_EQ(OnlyMixer(Config("MambaForCausalLM",
                             MambaFile({{"time_step_rank", "\"auto\""}})))
                .decay_rank,
            1);  // 8 / 16, rounded up.
  const ImportedConfig imported = ImportOrDie(
      Config("FalconMambaForCausalLM",
             MambaFile({{"intermediate_size", "24"}, {"expand", "16"}})));
  EXPECT_EQ(OnlyKind(imported).recurrent->heads, 24);
  EXPECT_THAT(imported.assumptions,
              Contains("intermediate_size is 24, but expand x hidden size is "
                       "128: the written one holds, as in the class"));
}

TEST(MambaImport, BiasIsTheClassDefault) {
  // modeling_mamba.py has it unless the file says no, Falcon's copy only where
  // the file says so.
  EXPECT_TRUE(
      OnlyMixer(Config("MambaForCausalLM", MambaFile({{"use_bias", ""}})))
          .projection_bias);
  EXPECT_FALSE(
      OnlyMixer(Config("FalconMambaForCausalLM", MambaFile({{"use_bias", ""}})))
          .projection_bias);
}

// The publishers' totals.
TEST(MambaImport, PublishedTotals) {
  EXPECT_EQ(ImportOrDie(R"({"architectures": ["MambaForCausalLM"],
                            "hidden_size": 768, "intermediate_size": 1536,
                            "num_hidden_layers": 24, "state_size": 16,
                            "time_step_rank": 48, "use_bias": false,
                            "vocab_size": 50280})")
                .graph.ParameterCount(),
            129'135'360);
  EXPECT_EQ(ImportOrDie(R"({"architectures": ["FalconMambaForCausalLM"],
                            "hidden_size": 4096, "intermediate_size": 8192,
                            "num_hidden_layers": 64, "state_size": 16,
                            "time_step_rank": 256, "vocab_size": 65024,
                            "tie_word_embeddings": false})")
                .graph.ParameterCount(),
            7'272'665'088);
}

TEST(StateSpacesImport, ReadsTheFirstPublicationsKeys) {
  const ImportedConfig imported = ImportOrDie(
      R"({"d_model": 8, "n_layer": 2, "vocab_size": 10, "d_intermediate": 0,
          "ssm_cfg": {"layer": "Mamba2", "headdim": 4, "d_state": 3},
          "attn_layer_idx": [], "attn_cfg": {}, "rms_norm": true,
          "pad_vocab_size_multiple": 8, "tie_embeddings": true})");
  const RecurrentMixer& mixer = *OnlyKind(imported).recurrent;
  EXPECT_EQ(mixer.rule, StateRule::kMamba2);
  EXPECT_EQ(mixer.heads, 4);
  EXPECT_EQ(mixer.value_size, 4);
  EXPECT_EQ(mixer.key_size, 3);
  EXPECT_EQ(imported.graph.spec().vocabulary_size, 16);
  EXPECT_TRUE(imported.graph.spec().tied_embeddings);
  EXPECT_EQ(imported.graph.layer_count(), 2);

  const ImportedConfig first = ImportOrDie(
      R"({"d_model": 32, "n_layer": 2, "vocab_size": 16, "ssm_cfg": {}})");
  EXPECT_EQ(OnlyKind(first).recurrent->rule, StateRule::kMamba);
  EXPECT_EQ(OnlyKind(first).recurrent->heads, 64);
  EXPECT_EQ(OnlyKind(first).recurrent->decay_rank, 2);
}

TEST(StateSpacesImport, RefusesOtherParts) {
  EXPECT_THAT(
      Refusals(R"({"d_model": 8, "n_layer": 2, "vocab_size": 16,
                   "ssm_cfg": {"layer": "Mamba3"}, "attn_layer_idx": [1],
                   "d_intermediate": 32})"),
      ElementsAre("attn_layer_idx: is a list; only layers that are one Mamba "
                  "mixer each are read",
                  "d_intermediate: is 32; only layers that are one Mamba mixer "
                  "each are read",
                  "ssm_cfg.layer: is \"Mamba3\"; allowed: Mamba1, Mamba2"));
}

TEST(StateFormatImport, IsWrittenOrTheModelsType) {
  struct Case {
    std::string name;
    Format format;
  };
  const std::vector<Case> cases = {{"\"float32\"", Format::kFp32},
                                   {"\"torch.float16\"", Format::kFp16},
                                   {"\"bfloat16\"", Format::kBf16},
                                   {"\"auto\"", Format::kBf16},
                                   {"null", Format::kBf16}};
  for (const Case& c : cases) {
    const ImportedConfig imported = ImportOrDie(Config(
        "Mamba2ForCausalLM", Mamba2File({{"mamba_ssm_cache_dtype", c.name}})));
    const Precision& native = imported.graph.spec().native_precision;
    EXPECT_EQ(native.state, c.format) << c.name;
    EXPECT_EQ(native.weights, Format::kBf16) << c.name;
  }
  EXPECT_THAT(ImportOrDie(Config("Mamba2ForCausalLM",
                                 Mamba2File({{"torch_dtype", "\"float16\""}})))
                  .assumptions,
              Contains("the file does not say how the recurrent state is "
                       "stored: fp16"));
  EXPECT_THAT(Refusals(Config("Mamba2ForCausalLM",
                              Mamba2File({{"mamba_ssm_dtype", "\"int3\""}}))),
              ElementsAre("mamba_ssm_dtype: is \"int3\"; allowed: float32, "
                          "bfloat16, float16, auto"));
}

}  // namespace
}  // namespace mansard::model
