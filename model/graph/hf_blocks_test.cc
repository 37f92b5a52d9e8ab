// Models whose layers are one part each (Nemotron-H). Counts are sums of the
// matrices that modeling_nemotron_h.py makes, by hand.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_hybrids.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// Tables and last norm: vocabulary 10, hidden size 8, head not tied.
constexpr int64_t kAround = 2 * 80 + 8;
// 4 query heads and 2 KV heads of size 2: q, k, v, output.
constexpr int64_t kAttention = 8 * 8 + 2 * 8 * 4 + 8 * 8;

Keys With(Keys keys, const Keys& changes) {
  for (const auto& [key, value] : changes) keys[key] = value;
  return keys;
}

const Keys kBlockKeys = {{"num_hidden_layers", "4"},
                         {"hybrid_override_pattern", "\"M*-E\""},
                         {"mamba_num_heads", "4"},
                         {"mamba_head_dim", "4"},
                         {"n_groups", "2"},
                         {"ssm_state_size", "3"},
                         {"conv_kernel", "4"},
                         {"n_routed_experts", "4"},
                         {"num_experts_per_tok", "2"},
                         {"moe_intermediate_size", "5"},
                         {"moe_shared_expert_intermediate_size", "6"},
                         {"n_shared_experts", "1"},
                         {"moe_latent_size", "4"},
                         {"num_nextn_predict_layers", "1"},
                         {"mtp_hybrid_override_pattern", "\"*E\""}};

TEST(BlockImport, CountsEachPart) {
  const ImportedConfig imported =
      ImportOrDie(Config("NemotronHForCausalLM", kBlockKeys));
  // x, B, C (2 groups x 3), gate, time steps; convolution; A, D, dt_bias; norm;
  // output.
  const int64_t mamba = 8 * (16 + 12 + 16 + 4) + 28 * 5 + 3 * 4 + 16 + 16 * 8;
  const int64_t dense = 2 * 8 * 16;  // No gate.
  const int64_t experts = 8 * 4 + 2 * 8 * 4 + 4 * 2 * 4 * 5 + 2 * 8 * 6;
  const ModelGraph& graph = imported.graph;
  EXPECT_EQ(graph.ParameterCount(),
            mamba + kAttention + dense + experts + 4 * 8 + kAround);
  EXPECT_EQ(graph.ParameterCount() - graph.ActiveParameterCount(),
            2 * 2 * 4 * 5);
  EXPECT_EQ(graph.MtpParameterCount(),
            kAttention + experts + 2 * 8 + 2 * 8 * 8 + 3 * 8);
  // The module's layers are kinds that the model has already.
  EXPECT_EQ(graph.spec().layer_kinds.size(), 4u);
  EXPECT_THAT(graph.spec().mtp.layer_kind_indexes, ElementsAre(1, 3));
}

TEST(BlockImport, ReadsTheKeysOfBothSpellings) {
  const ImportedConfig letters =
      ImportOrDie(Config("NemotronHForCausalLM", kBlockKeys));
  const ImportedConfig words = ImportOrDie(Config(
      "NemotronHForCausalLM",
      With(kBlockKeys,
           {{"num_hidden_layers", ""},
            {"hybrid_override_pattern", ""},
            {"layers_block_type", R"(["mamba", "attention", "mlp", "moe"])"},
            {"mtp_hybrid_override_pattern", ""},
            {"mtp_layers_block_type", R"(["full_attention", "moe"])"},
            {"n_groups", ""},
            {"mamba_n_groups", "2"},
            {"conv_kernel", ""},
            {"mamba_d_conv", "4"}})));
  EXPECT_EQ(letters.graph.spec().layer_kinds, words.graph.spec().layer_kinds);
  EXPECT_EQ(letters.graph.spec().mtp, words.graph.spec().mtp);
}

TEST(BlockImport, KeysOfPartsThatNoLayerHasAreIgnored) {
  const ImportedConfig imported = ImportOrDie(
      Config("NemotronHForCausalLM",
             With(kBlockKeys, {{"hybrid_override_pattern", "\"----\""},
                               {"num_nextn_predict_layers", "0"}})));
  for (const std::string key :
       {"mamba_num_heads", "ssm_state_size", "num_attention_heads",
        "n_routed_experts", "moe_latent_size", "mtp_hybrid_override_pattern"}) {
    EXPECT_THAT(imported.ignored_keys, Contains(key));
  }
  EXPECT_EQ(imported.graph.ParameterCount(), 4 * (2 * 8 * 16 + 8) + kAround);
}

TEST(HybridImport, UnknownKeysOfStructureAreRefused) {
  EXPECT_THAT(Refusals(Config("NemotronHForCausalLM",
                              With(kBlockKeys, {{"mamba_extra_heads", "2"}}))),
              ElementsAre("mamba_extra_heads: is 2; NemotronHForCausalLM has "
                          "no such key, and by its name it changes cost"));
}

}  // namespace
}  // namespace mansard::model
