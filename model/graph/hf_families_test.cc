// One small file for each part that a row of the table can ask for, with
// counts worked out by hand beside it.
#include "model/graph/hf_families.h"

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const MixtureOfExperts& ExpertsOf(const LayerKind& kind) {
  return std::get<MixtureOfExperts>(kind.feed_forward);
}

const LatentAttention& LatentOf(const LayerKind& kind) {
  return std::get<LatentAttention>(*kind.attention);
}

// Names of the kinds, layer by layer.
std::vector<std::string> KindsOf(const ImportedConfig& imported) {
  const ModelGraphSpec& spec = imported.graph.spec();
  std::vector<std::string> names;
  for (const int index : spec.layer_kind_indexes) {
    names.push_back(spec.layer_kinds[static_cast<size_t>(index)].name);
  }
  return names;
}

TEST(HfFamiliesTest, NoNameStandsInTwoRows) {
  std::set<std::string> architectures;
  std::set<std::string> types;
  for (const absl::Span<const HfFamily> rows :
       {DenseFamilies(), OlderFamilies(), ExpertFamilies(),
        RecurrentFamilies()}) {
    for (const HfFamily& family : rows) {
      EXPECT_FALSE(family.architectures.empty());
      for (const absl::string_view name :
           absl::StrSplit(family.architectures, '|')) {
        EXPECT_TRUE(architectures.insert(std::string(name)).second) << name;
        EXPECT_EQ(FamilyOfArchitecture(name), &family) << name;
      }
      if (family.model_types.empty()) continue;
      for (const absl::string_view name :
           absl::StrSplit(family.model_types, '|')) {
        EXPECT_TRUE(types.insert(std::string(name)).second) << name;
        EXPECT_EQ(FamilyOfModelType(name), &family) << name;
      }
    }
  }
  EXPECT_EQ(AllArchitectures().size(), architectures.size());
  EXPECT_EQ(FamilyOfArchitecture(""), nullptr);
  EXPECT_EQ(FamilyOfArchitecture("LlamaForCausalLM|YiForCausalLM"), nullptr);
}

struct Counted {
  const char* what;
  const char* text;
  int64_t parameters;
};

// Hidden size h, width f, vocabulary v, layers n. 8, 16, 10, 2 in all of them;
// 4 heads of 2, 2 of them for keys and values where the class can say so.
// Attention 64 + 2 x 32 + 64 = 192 with 2 KV heads, 256 with 4; feed-forward
// 3 x 128 = 384 with a gate, 256 without; table 80.
constexpr Counted kCounted[] = {
    // 2 x 80 + 2 (256 + 384 + 2 x 8) + 8, qkv bias 24 a layer, width halved.
    {"Qwen 1: twice the width, qkv bias",
     R"({"architectures": ["QWenLMHeadModel"], "hidden_size": 8,
         "intermediate_size": 32, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "kv_channels": 2, "seq_length": 64,
         "no_bias": true, "tie_word_embeddings": false})",
     160 + 2 * (256 + 24 + 384 + 16) + 8},
    // Tied; biases of every projection; norms with bias; positions 64.
    {"GPT-2: learned positions, biases, tied",
     R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_layer": 2,
         "n_head": 4, "n_positions": 64, "n_ctx": 64, "vocab_size": 10,
         "n_inner": 16})",
     80 + 64 * 8 + 2 * (256 + 32 + 256 + 24 + 32) + 16},
    {"GPT-2: four times the width where none is written",
     R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 8, "n_layer": 2,
         "n_head": 4, "n_positions": 64, "vocab_size": 10, "n_inner": null})",
     80 + 64 * 8 + 2 * (256 + 32 + 512 + 40 + 32) + 16},
    // One KV head: 64 + 2 x 16 + 64.
    {"GPT-BigCode: one KV head as the class default",
     R"({"architectures": ["GPTBigCodeForCausalLM"], "n_embd": 8,
         "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 10,
         "n_inner": 16})",
     80 + 64 * 8 + 2 * (160 + 20 + 256 + 24 + 32) + 16},
    // One norm a layer; biases of the feed-forward and the head.
    {"GPT-J: parallel, one norm, bias of the head",
     R"({"architectures": ["GPTJForCausalLM"], "n_embd": 8, "n_layer": 2,
         "n_head": 4, "n_positions": 64, "vocab_size": 10, "n_inner": 16,
         "rotary_dim": 1, "tie_word_embeddings": false})",
     160 + 10 + 2 * (256 + 256 + 24 + 16) + 16},
    {"GPT-NeoX: parallel, two norms",
     R"({"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 64,
         "tie_word_embeddings": false})",
     160 + 2 * (256 + 32 + 256 + 24 + 32) + 16},
    // Norm behind the embedding 16.
    {"BLOOM: embedding norm",
     R"({"architectures": ["BloomForCausalLM"], "hidden_size": 8,
         "n_layer": 2, "n_head": 4, "vocab_size": 10, "seq_length": 64})",
     80 + 16 + 2 * (256 + 32 + 512 + 40 + 32) + 16},
    // Positions 64 + 2.
    {"OPT: two more positions",
     R"({"model_type": "opt", "hidden_size": 8, "ffn_dim": 16,
         "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 10,
         "max_position_embeddings": 64, "word_embed_proj_dim": 8})",
     80 + 66 * 8 + 2 * (256 + 32 + 256 + 24 + 32) + 16},
    // Table of width 4, projected to 8 and back; no norm at the end.
    {"OPT-350M: narrow table, norms behind",
     R"({"model_type": "opt", "hidden_size": 8, "ffn_dim": 16,
         "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 10,
         "max_position_embeddings": 64, "word_embed_proj_dim": 4,
         "do_layer_norm_before": false})",
     40 + 2 * 32 + 66 * 8 + 2 * (256 + 32 + 256 + 24 + 32)},
    {"MPT: no bias at all, ALiBi",
     R"({"architectures": ["MPTForCausalLM"], "d_model": 8, "n_layers": 2,
         "n_heads": 4, "expansion_ratio": 2, "vocab_size": 10,
         "max_seq_len": 64, "no_bias": true,
         "attn_config": {"alibi": true, "qk_ln": false}})",
     80 + 2 * (256 + 256 + 16) + 8},
    {"Falcon 7B: one KV head whatever num_kv_heads says, one norm",
     R"({"architectures": ["FalconForCausalLM"], "hidden_size": 8,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_kv_heads": 4,
         "vocab_size": 10, "ffn_hidden_size": 16, "multi_query": true,
         "new_decoder_architecture": false, "parallel_attn": true})",
     80 + 2 * (160 + 256 + 16) + 16},
    {"Falcon 40B: KV heads as written, two norms",
     R"({"architectures": ["FalconForCausalLM"], "hidden_size": 8,
         "n_layer": 2, "n_head": 4, "num_kv_heads": 2, "vocab_size": 10,
         "ffn_hidden_size": 16, "multi_query": true,
         "new_decoder_architecture": true})",
     80 + 2 * (192 + 256 + 32) + 16},
    {"Falcon RW: neither parallel nor rotated, with biases",
     R"({"architectures": ["RWForCausalLM"], "hidden_size": 8,
         "n_layer": 2, "n_head": 4, "vocab_size": 10, "ffn_hidden_size": 16,
         "multi_query": false, "parallel_attn": false, "alibi": true,
         "bias": true})",
     80 + 2 * (256 + 32 + 256 + 24 + 32) + 16},
    // Norms without bias, one a layer.
    {"Cohere: parallel, tied",
     R"({"architectures": ["CohereForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2})",
     80 + 2 * (192 + 384 + 8) + 8},
    // And a weight for each element of 4 query and 2 key heads of 2.
    {"Cohere: norms of queries and keys",
     R"({"architectures": ["CohereForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2,
         "use_qk_norm": true})",
     80 + 2 * (192 + 384 + 8 + 12) + 8},
    {"OLMo 2: norms behind, of all heads",
     R"({"architectures": ["Olmo2ForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2})",
     160 + 2 * (192 + 384 + 16 + 12) + 8},
    {"Gemma 2: four norms a layer",
     R"({"architectures": ["Gemma2ForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2})",
     80 + 2 * (192 + 384 + 32) + 8},
    // qkv bias of 8 + 2 x 4.
    {"ChatGLM: groups under another name",
     R"({"architectures": ["ChatGLMModel"], "hidden_size": 8,
         "ffn_hidden_size": 16, "padded_vocab_size": 10, "num_layers": 2,
         "num_attention_heads": 4, "kv_channels": 2, "seq_length": 64,
         "multi_query_attention": true, "multi_query_group_num": 2,
         "add_qkv_bias": true, "add_bias_linear": false,
         "tie_word_embeddings": false})",
     160 + 2 * (192 + 16 + 384 + 16) + 8},
    {"ChatGLM: a bias of all is one of q, k and v too",
     R"({"architectures": ["ChatGLMModel"], "hidden_size": 8,
         "ffn_hidden_size": 16, "padded_vocab_size": 10, "num_layers": 2,
         "num_attention_heads": 4, "kv_channels": 2, "seq_length": 64,
         "multi_query_attention": false, "add_qkv_bias": false,
         "add_bias_linear": true})",
     160 + 2 * (256 + 32 + 384 + 40 + 16) + 8},
    {"GLM-4: norms on both sides, qkv bias alone",
     R"({"architectures": ["Glm4ForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2,
         "attention_bias": true})",
     160 + 2 * (192 + 16 + 384 + 32) + 8},
    {"StarCoder2: biases, norms with bias, tied",
     R"({"architectures": ["Starcoder2ForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2})",
     80 + 2 * (192 + 24 + 256 + 24 + 32) + 16},
    {"Phi: parallel, biases, bias of the head",
     R"({"architectures": ["PhiForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2,
         "tie_word_embeddings": false})",
     160 + 10 + 2 * (192 + 24 + 256 + 24 + 16) + 16},
    // Queries 8x6 + 6x12, keys and values 8x(4+1) + 4x4(2+2), output 8x8,
    // norms of 6 and 4.
    {"MiniCPM 3: latent attention and dense layers",
     R"({"architectures": ["MiniCPM3ForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 4,
         "q_lora_rank": 6, "kv_lora_rank": 4, "qk_nope_head_dim": 2,
         "qk_rope_head_dim": 1, "scale_emb": 12})",
     80 + 2 * (48 + 72 + 40 + 64 + 64 + 10 + 384 + 16) + 8},
    // Router 8x4, experts 4 x 3x8x16, biases of both.
    {"gpt-oss: sinks, biases of router and experts",
     R"({"architectures": ["GptOssForCausalLM"], "hidden_size": 8,
         "intermediate_size": 16, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2,
         "num_local_experts": 4, "experts_per_token": 2,
         "tie_word_embeddings": false})",
     160 + 2 * (192 + 24 + 4 + 32 + 4 + 4 * (384 + 40) + 16) + 8},
    // One shared expert, a gate of 8 for it.
    {"Qwen2-MoE: shared expert behind a gate",
     R"({"architectures": ["Qwen2MoeForCausalLM"], "hidden_size": 8,
         "intermediate_size": 64, "vocab_size": 10, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_experts": 4, "num_experts_per_tok": 2,
         "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
         "tie_word_embeddings": false})",
     160 + 2 * (192 + 16 + 32 + 5 * 384 + 8 + 16) + 8},
    {"DBRX: keys of inner objects, norms without bias",
     R"({"architectures": ["DbrxForCausalLM"], "d_model": 8, "n_layers": 2,
         "n_heads": 4, "vocab_size": 10, "max_seq_len": 64,
         "tie_word_embeddings": false,
         "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 1e4,
                         "tie_word_embeddings": true},
         "ffn_config": {"moe_num_experts": 4, "moe_top_k": 2,
                        "ffn_hidden_size": 16, "moe_jitter_eps": 0,
                        "ffn_act_fn": {"name": "silu"}}})",
     160 + 2 * (192 + 32 + 4 * 384 + 16) + 8},
};

TEST(HfFamiliesTest, CountsEveryPart) {
  for (const Counted& row : kCounted) {
    SCOPED_TRACE(row.what);
    const ImportedConfig imported = ImportOrDie(row.text);
    EXPECT_EQ(imported.graph.ParameterCount(), row.parameters);
    EXPECT_THAT(imported.assumptions, Not(Contains(HasSubstr("is not known"))));
  }
}

TEST(HfFamiliesTest, Rotation) {
  const auto unrotated = [](const std::string& text) {
    return GroupedOf(OnlyKind(ImportOrDie(text))).nope_head_size;
  };
  EXPECT_EQ(unrotated(kCounted[0].text), 0);
  EXPECT_EQ(unrotated(kCounted[1].text), 2);
  // rotary_dim is 1.
  EXPECT_EQ(unrotated(kCounted[4].text), 1);
  // A quarter of 2 is nothing; of 8 it is 2.
  EXPECT_EQ(unrotated(kCounted[5].text), 2);
  EXPECT_EQ(
      unrotated(Config("LlamaForCausalLM",
                       {{"head_dim", "8"}, {"partial_rotary_factor", "0.25"}})),
      6);
  EXPECT_EQ(unrotated(Config(
                "LlamaForCausalLM",
                {{"head_dim", "8"},
                 {"rope_parameters", R"({"partial_rotary_factor": 0.5})"}})),
            4);
  EXPECT_THAT(
      Refusals(Config("LlamaForCausalLM", {{"partial_rotary_factor", "1.5"}})),
      ElementsAre("partial_rotary_factor: is 1.5; must be a number, 0 "
                  "to 1"));
}

TEST(HfFamiliesTest, ParallelLayers) {
  EXPECT_TRUE(OnlyKind(ImportOrDie(kCounted[4].text)).parallel);
  EXPECT_FALSE(OnlyKind(ImportOrDie(kCounted[4].text)).parallel_norms);
  EXPECT_TRUE(OnlyKind(ImportOrDie(kCounted[5].text)).parallel_norms);
  EXPECT_FALSE(OnlyKind(ImportOrDie(kCounted[12].text)).parallel);
}

// A file of a class with experts: 6 layers of the sizes of Config.
std::string Sparse(const std::string& architecture, const Keys& changes) {
  Keys keys = {{"num_hidden_layers", "6"},
               {"num_experts_per_tok", "2"},
               {"moe_intermediate_size", "4"}};
  for (const auto& [key, value] : changes) keys[key] = value;
  return Config(architecture, keys);
}

struct Placement {
  const char* what;
  const char* architecture;
  Keys keys;
  std::vector<std::string> kinds;
};

TEST(HfFamiliesTest, WhichLayersHaveExperts) {
  const Keys latent = {{"n_routed_experts", "8"}, {"q_lora_rank", "null"},
                       {"kv_lora_rank", "4"},     {"qk_nope_head_dim", "2"},
                       {"qk_rope_head_dim", "1"}, {"v_head_dim", "2"},
                       {"n_shared_experts", "1"}};
  const auto with = [](Keys keys, const Keys& more) {
    for (const auto& [key, value] : more) keys[key] = value;
    return keys;
  };
  const Placement rows[] = {
      {"all",
       "MixtralForCausalLM",
       {{"num_local_experts", "8"},
        {"sliding_window", "null"},
        {"moe_intermediate_size", ""}},
       {"moe", "moe", "moe", "moe", "moe", "moe"}},
      {"every second",
       "Qwen3MoeForCausalLM",
       {{"num_experts", "8"}, {"decoder_sparse_step", "2"}},
       {"dense", "moe", "dense", "moe", "dense", "moe"}},
      {"but some",
       "Qwen3MoeForCausalLM",
       {{"num_experts", "8"}, {"mlp_only_layers", "[0, 3]"}},
       {"dense", "moe", "moe", "dense", "moe", "moe"}},
      {"after the first",
       "DeepseekV2ForCausalLM",
       with(latent, {{"first_k_dense_replace", "2"}}),
       {"dense", "dense", "moe", "moe", "moe", "moe"}},
      {"every second after the first",
       "DeepseekV2ForCausalLM",
       with(latent, {{"first_k_dense_replace", "1"}, {"moe_layer_freq", "2"}}),
       {"dense", "dense", "moe", "dense", "moe", "dense"}},
      {"class default of three",
       "DeepseekV3ForCausalLM",
       latent,
       {"dense", "dense", "dense", "moe", "moe", "moe"}},
      {"by a list of words",
       "DeepseekV3ForCausalLM",
       with(latent, {{"first_k_dense_replace", "3"},
                     {"mlp_layer_types",
                      R"(["dense", "sparse", "sparse", "dense", "sparse",
                          "sparse"])"}}),
       {"dense", "moe", "moe", "dense", "moe", "moe"}},
      {"by a list of numbers",
       "DeepseekV3ForCausalLM",
       with(latent, {{"moe_layer_freq", "[0, 1, 1, 1, 1, 0]"}}),
       {"dense", "moe", "moe", "moe", "moe", "dense"}},
      {"from one to another",
       "Ernie4_5_MoeForCausalLM",
       {{"moe_num_experts", "8"},
        {"moe_k", "2"},
        {"num_experts_per_tok", ""},
        {"use_bias", "false"},
        {"moe_layer_start_index", "1"},
        {"moe_layer_end_index", "4"}},
       {"dense", "moe", "moe", "moe", "moe", "dense"}},
  };
  for (const Placement& row : rows) {
    SCOPED_TRACE(std::string(row.architecture) + ": " + row.what);
    EXPECT_EQ(KindsOf(ImportOrDie(Sparse(row.architecture, row.keys))),
              row.kinds);
  }
}

TEST(HfFamiliesTest, WidthsOfExperts) {
  // Mixtral's experts are as wide as its key of dense layers says.
  const ImportedConfig mixtral = ImportOrDie(
      Sparse("MixtralForCausalLM", {{"num_local_experts", "8"},
                                    {"sliding_window", "null"},
                                    {"moe_intermediate_size", ""}}));
  MixtureOfExperts expected;
  expected.expert_count = 8;
  expected.experts_per_token = 2;
  expected.expert_intermediate_size = 16;
  EXPECT_EQ(ExpertsOf(OnlyKind(mixtral)), expected);

  const ImportedConfig deepseek = ImportOrDie(
      Sparse("DeepseekV2ForCausalLM", {{"n_routed_experts", "8"},
                                       {"q_lora_rank", "null"},
                                       {"kv_lora_rank", "4"},
                                       {"n_shared_experts", "2"},
                                       {"first_k_dense_replace", "0"}}));
  EXPECT_EQ(ExpertsOf(OnlyKind(deepseek)).expert_intermediate_size, 4);
  EXPECT_EQ(ExpertsOf(OnlyKind(deepseek)).shared_intermediate_size, 8);
  EXPECT_EQ(LatentOf(OnlyKind(deepseek)).query_lora_rank, 0);
}

TEST(HfFamiliesTest, WrongExperts) {
  EXPECT_THAT(
      Refusals(Sparse("Qwen3MoeForCausalLM",
                      {{"num_experts", "8"}, {"num_experts_per_tok", "9"}})),
      ElementsAre("num_experts_per_tok: is 9; there are 8 experts"));
  EXPECT_THAT(
      Refusals(Sparse("Qwen3MoeForCausalLM",
                      {{"num_experts", "8"}, {"num_local_experts", "16"}})),
      ElementsAre("num_local_experts: is 16, but num_experts is 8, "
                  "and both mean the same"));
  EXPECT_THAT(
      Refusals(Sparse("Qwen3MoeForCausalLM",
                      {{"num_experts", "8"}, {"kv_lora_rank", "8"}})),
      ElementsAre("kv_lora_rank: is 8; Qwen3MoeForCausalLM has no such key, "
                  "and by its name it changes cost"));
}

TEST(HfFamiliesTest, DraftingModules) {
  const Keys keys = {
      {"n_routed_experts", "8"}, {"q_lora_rank", "6"},
      {"kv_lora_rank", "4"},     {"qk_nope_head_dim", "2"},
      {"qk_rope_head_dim", "1"}, {"v_head_dim", "2"},
      {"n_shared_experts", "1"}, {"num_nextn_predict_layers", "1"}};
  const ImportedConfig imported =
      ImportOrDie(Sparse("DeepseekV3ForCausalLM", keys));
  const ModelGraphSpec& spec = imported.graph.spec();
  EXPECT_EQ(spec.mtp.modules, 1);
  ASSERT_EQ(spec.mtp.layer_kind_indexes.size(), 1u);
  EXPECT_EQ(
      spec.layer_kinds[static_cast<size_t>(spec.mtp.layer_kind_indexes[0])]
          .name,
      "moe");
  // Attention 48 + 72 + 40 + 64 + 64 + 10; router 64; 9 experts 3x8x4; norms
  // 16. Around it 2x8x8 and three norms of 8.
  EXPECT_EQ(imported.graph.MtpParameterCount(),
            298 + 64 + 9 * 96 + 16 + 128 + 24);

  // The class ignores it.
  const ImportedConfig ernie = ImportOrDie(
      Config("Ernie4_5ForCausalLM",
             {{"use_bias", "false"}, {"num_nextn_predict_layers", "1"}}));
  EXPECT_EQ(ernie.graph.spec().mtp.modules, 0);
  EXPECT_THAT(ernie.assumptions,
              Contains("num_nextn_predict_layers is 1: Ernie4_5ForCausalLM "
                       "has no such layers; not counted"));
}

TEST(HfFamiliesTest, ModulesOfSeveralLayers) {
  const ImportedConfig imported = ImportOrDie(
      Sparse("MiniMaxM2ForCausalLM", {{"num_local_experts", "8"},
                                      {"moe_intermediate_size", ""},
                                      {"use_mtp", "true"},
                                      {"num_mtp_modules", "3"},
                                      {"mtp_transformer_layers", "2"}}));
  EXPECT_EQ(imported.graph.spec().mtp.modules, 3);
  EXPECT_THAT(imported.graph.spec().mtp.layer_kind_indexes, ElementsAre(0, 0));
}

// Values that another class reads, switched off, are no mistake.
TEST(HfFamiliesTest, PartsOfOtherClassesSwitchedOff) {
  const ImportedConfig imported =
      ImportOrDie(Config("LlamaForCausalLM", {{"num_experts", "null"},
                                              {"sliding_window", "null"},
                                              {"kv_lora_rank", "0"},
                                              {"moe_layers", "[]"},
                                              {"shared_intermediate_size", "0"},
                                              {"vision_config", "null"}}));
  EXPECT_THAT(imported.ignored_keys,
              ElementsAre("kv_lora_rank", "moe_layers", "num_experts",
                          "shared_intermediate_size", "sliding_window",
                          "vision_config"));
}

}  // namespace
}  // namespace mansard::model
