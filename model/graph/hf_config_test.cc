#include "model/graph/hf_config.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_test_files.h"
#include "tests/toy/layer_parts.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

TEST(HfConfigTest, ReadsEveryNumber) {
  const ImportedConfig imported = ImportOrDie(Config("LlamaForCausalLM"));
  const ModelGraphSpec& spec = imported.graph.spec();
  EXPECT_EQ(spec.id, "");
  EXPECT_EQ(spec.display_name, "LlamaForCausalLM");
  EXPECT_EQ(spec.source, "config.json of LlamaForCausalLM");
  EXPECT_EQ(spec.hidden_size, 8);
  EXPECT_EQ(spec.vocabulary_size, 10);
  EXPECT_EQ(spec.max_context, 8192);
  EXPECT_FALSE(spec.tied_embeddings);
  EXPECT_EQ(spec.native_precision, (Precision{Format::kBf16, Format::kBf16,
                                              Format::kBf16, Format::kBf16}));
  EXPECT_THAT(spec.layer_kind_indexes, ElementsAre(0, 0, 0));
  const LayerKind expected = {
      .name = "dense",
      .attention =
          GroupedQueryAttention{
              .query_heads = 4, .kv_heads = 2, .head_size = 2},
      .feed_forward = DenseFeedForward{.intermediate_size = 16}};
  EXPECT_EQ(OnlyKind(imported), expected);
  EXPECT_THAT(imported.assumptions, IsEmpty());
  EXPECT_THAT(imported.ignored_keys, IsEmpty());
  // Embedding and head 80 each; a layer 8x8 + 2 x 8x4 + 8x8, 3 x 8x16, 2 x 8.
  EXPECT_EQ(imported.graph.ParameterCount(), 160 + 3 * (192 + 384 + 16) + 8);
}

struct Family {
  const char* architecture;
  const char* model_type;
  bool qkv_bias;
  bool qk_norm;
};

constexpr Family kFamilies[] = {
    {"LlamaForCausalLM", "llama", false, false},
    {"MistralForCausalLM", "mistral", false, false},
    {"Qwen2ForCausalLM", "qwen2", true, false},
    {"Qwen3ForCausalLM", "qwen3", false, true},
};

TEST(HfConfigTest, EveryFamily) {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.architecture);
    names.push_back(family.architecture);
    const ImportedConfig imported = ImportOrDie(Config(family.architecture));
    EXPECT_THAT(imported.assumptions, IsEmpty());
    const LayerKind& kind = OnlyKind(imported);
    EXPECT_EQ(GroupedOf(kind).qkv_bias, family.qkv_bias);
    EXPECT_FALSE(GroupedOf(kind).output_bias);
    EXPECT_EQ(GroupedOf(kind).qk_norm,
              family.qk_norm ? QkNorm::kPerHead : QkNorm::kNone);
    EXPECT_EQ(GroupedOf(kind).sliding_window, 0);
    EXPECT_TRUE(DenseOf(kind).gated);
    EXPECT_FALSE(DenseOf(kind).bias);
  }
  EXPECT_THAT(SupportedArchitectures(), IsSupersetOf(names));
}

TEST(HfConfigTest, ModelTypeDecidesWhereArchitecturesIsAbsent) {
  for (const Family& family : kFamilies) {
    SCOPED_TRACE(family.architecture);
    for (const char* absent : {"", "null", "[]"}) {
      const ImportedConfig imported = ImportOrDie(Config(
          family.architecture,
          {{"architectures", absent},
           {"model_type", "\"" + std::string(family.model_type) + "\""}}));
      EXPECT_EQ(imported.graph.spec().source,
                std::string("config.json of ") + family.architecture);
      EXPECT_THAT(imported.assumptions,
                  ElementsAre("architectures is absent: " +
                              std::string(family.architecture) +
                              ", as model_type says"));
    }
  }
}

TEST(HfConfigTest, ArchitecturesOverrulesModelType) {
  const ImportedConfig imported =
      ImportOrDie(Config("Qwen3ForCausalLM", {{"model_type", "\"llama\""}}));
  EXPECT_EQ(GroupedOf(OnlyKind(imported)).qk_norm, QkNorm::kPerHead);
  EXPECT_THAT(imported.assumptions,
              ElementsAre("model_type is \"llama\": architectures decides, "
                          "Qwen3ForCausalLM"));
}

struct Default {
  const char* architecture;
  const char* key;
  const char* assumption;
};

TEST(HfConfigTest, NamesEveryClassDefault) {
  const Default rows[] = {
      {"LlamaForCausalLM", "num_key_value_heads",
       "num_key_value_heads is absent: one KV head a query head, as the class "
       "default"},
      {"LlamaForCausalLM", "head_dim",
       "head_dim is absent: hidden_size / num_attention_heads = 2, as the "
       "class "
       "default"},
      {"Qwen2ForCausalLM", "head_dim",
       "head_dim is absent: hidden_size / num_attention_heads = 2, as the "
       "class "
       "default"},
      {"MistralForCausalLM", "head_dim",
       "head_dim is absent: hidden_size / num_attention_heads = 2, as the "
       "class "
       "default"},
      {"Qwen3ForCausalLM", "head_dim",
       "head_dim is absent: 128, as the class default"},
      {"LlamaForCausalLM", "attention_bias",
       "attention_bias is absent: false, as the class default"},
      {"Qwen3ForCausalLM", "attention_bias",
       "attention_bias is absent: false, as the class default"},
      {"LlamaForCausalLM", "mlp_bias",
       "mlp_bias is absent: false, as the class default"},
      {"MistralForCausalLM", "sliding_window",
       "sliding_window is absent: 4096, as the class default"},
      {"Qwen2ForCausalLM", "use_sliding_window",
       "use_sliding_window is absent: false, as the class default"},
      {"LlamaForCausalLM", "tie_word_embeddings",
       "tie_word_embeddings is absent: false, as the class default"},
      {"LlamaForCausalLM", "max_position_embeddings",
       "max_position_embeddings is absent: 2048, as the class default"},
      {"MistralForCausalLM", "max_position_embeddings",
       "max_position_embeddings is absent: 131072, as the class default"},
      {"Qwen2ForCausalLM", "max_position_embeddings",
       "max_position_embeddings is absent: 32768, as the class default"},
      {"LlamaForCausalLM", "hidden_act",
       "hidden_act is absent: gated SiLU, as the class default"},
      {"LlamaForCausalLM", "torch_dtype", "dtype is absent: bf16"},
  };
  for (const Default& row : rows) {
    SCOPED_TRACE(std::string(row.architecture) + " " + row.key);
    const ImportedConfig imported =
        ImportOrDie(Config(row.architecture, {{row.key, ""}}));
    EXPECT_THAT(imported.assumptions, ElementsAre(row.assumption));
  }
}

TEST(HfConfigTest, KvHeadDefaults) {
  const auto kv_heads = [](const char* architecture, const char* heads,
                           const char* value) {
    return GroupedOf(OnlyKind(ImportOrDie(Config(
                         architecture, {{"num_attention_heads", heads},
                                        {"num_key_value_heads", value}}))))
        .kv_heads;
  };
  EXPECT_EQ(kv_heads("LlamaForCausalLM", "4", ""), 4);
  EXPECT_EQ(kv_heads("LlamaForCausalLM", "4", "null"), 4);
  EXPECT_EQ(kv_heads("MistralForCausalLM", "32", ""), 8);
  EXPECT_EQ(kv_heads("MistralForCausalLM", "32", "null"), 32);
  EXPECT_EQ(kv_heads("Qwen2ForCausalLM", "64", ""), 32);
  EXPECT_EQ(kv_heads("Qwen3ForCausalLM", "64", ""), 32);
  EXPECT_EQ(kv_heads("Qwen3ForCausalLM", "64", "null"), 64);
  EXPECT_THAT(
      Refusals(Config("Qwen2ForCausalLM", {{"num_key_value_heads", ""}})),
      ElementsAre("num_key_value_heads: is 32; must divide "
                  "num_attention_heads, 4"));
}

TEST(HfConfigTest, HeadSizes) {
  const auto head_size = [](const char* architecture, const char* value) {
    return GroupedOf(OnlyKind(ImportOrDie(
                         Config(architecture, {{"head_dim", value}}))))
        .head_size;
  };
  EXPECT_EQ(head_size("LlamaForCausalLM", "16"), 16);
  EXPECT_EQ(head_size("LlamaForCausalLM", ""), 2);
  EXPECT_EQ(head_size("MistralForCausalLM", "null"), 2);
  EXPECT_EQ(head_size("Qwen3ForCausalLM", ""), 128);
  EXPECT_THAT(Refusals(Config("Qwen3ForCausalLM", {{"head_dim", "null"}})),
              ElementsAre("head_dim: is null; must be an integer, 1 to 65536"));
  EXPECT_THAT(Refusals(Config("LlamaForCausalLM",
                              {{"head_dim", ""}, {"hidden_size", "10"}})),
              ElementsAre("head_dim: is absent, and hidden_size, 10, is not a "
                          "multiple of num_attention_heads, 4"));
  EXPECT_THAT(
      Refusals(Config("LlamaForCausalLM", {{"head_dim", "65536"},
                                           {"num_attention_heads", "1024"}})),
      ElementsAre("head_dim: is 65536; times num_attention_heads, 1024, it may "
                  "be up to 16777216"));
}

TEST(HfConfigTest, Biases) {
  for (const char* architecture : {"LlamaForCausalLM", "Qwen3ForCausalLM"}) {
    const ImportedConfig imported =
        ImportOrDie(Config(architecture, {{"attention_bias", "true"}}));
    EXPECT_TRUE(GroupedOf(OnlyKind(imported)).qkv_bias) << architecture;
    EXPECT_TRUE(GroupedOf(OnlyKind(imported)).output_bias) << architecture;
    EXPECT_FALSE(DenseOf(OnlyKind(imported)).bias) << architecture;
  }
  const ImportedConfig llama =
      ImportOrDie(Config("LlamaForCausalLM", {{"mlp_bias", "true"}}));
  EXPECT_TRUE(DenseOf(OnlyKind(llama)).bias);
  EXPECT_FALSE(GroupedOf(OnlyKind(llama)).qkv_bias);

  const ImportedConfig qwen2 = ImportOrDie(Config(
      "Qwen2ForCausalLM", {{"attention_bias", "true"}, {"mlp_bias", "false"}}));
  EXPECT_THAT(qwen2.ignored_keys, ElementsAre("attention_bias", "mlp_bias"));
  EXPECT_FALSE(GroupedOf(OnlyKind(qwen2)).output_bias);
  EXPECT_THAT(
      Refusals(Config("Qwen2ForCausalLM",
                      {{"attention_bias", "false"}, {"mlp_bias", "true"}})),
      UnorderedElementsAre(
          "attention_bias: is false; Qwen2ForCausalLM does not read the key "
          "and always has the bias",
          "mlp_bias: is true; Qwen2ForCausalLM does not read the key and "
          "always lacks the bias"));
  EXPECT_THAT(
      Refusals(Config("MistralForCausalLM", {{"attention_bias", "true"}})),
      ElementsAre("attention_bias: is true; MistralForCausalLM does not read "
                  "the key and always lacks the bias"));
}

TEST(HfConfigTest, TiedEmbeddings) {
  const ImportedConfig imported = ImportOrDie(
      Config("LlamaForCausalLM", {{"tie_word_embeddings", "true"}}));
  EXPECT_TRUE(imported.graph.spec().tied_embeddings);
  EXPECT_EQ(imported.graph.ParameterCount(TensorClass::kHead), 0);
}

struct Precise {
  const char* key;
  const char* value;
  Format format;
};

TEST(HfConfigTest, Precision) {
  constexpr Precise kRows[] = {
      {"torch_dtype", "\"bfloat16\"", Format::kBf16},
      {"torch_dtype", "\"float16\"", Format::kFp16},
      {"torch_dtype", "\"float32\"", Format::kFp32},
      {"torch_dtype", "\"torch.float16\"", Format::kFp16},
      {"dtype", "\"float32\"", Format::kFp32},
  };
  for (const Precise& row : kRows) {
    SCOPED_TRACE(row.value);
    Keys keys = {{"torch_dtype", ""}};
    keys[row.key] = row.value;
    const ImportedConfig imported =
        ImportOrDie(Config("LlamaForCausalLM", keys));
    EXPECT_EQ(imported.graph.spec().native_precision,
              (Precision{row.format, row.format, row.format, row.format}));
    EXPECT_THAT(imported.assumptions, IsEmpty());
  }
  EXPECT_EQ(ImportOrDie(Config("LlamaForCausalLM", {{"dtype", "\"bfloat16\""}}))
                .graph.spec()
                .native_precision.weights,
            Format::kBf16);
  EXPECT_THAT(Refusals(Config("LlamaForCausalLM", {{"dtype", "\"float16\""}})),
              ElementsAre("torch_dtype: is \"bfloat16\", but dtype is "
                          "\"float16\""));
  EXPECT_THAT(
      Refusals(
          Config("LlamaForCausalLM", {{"torch_dtype", "\"float8_e4m3fn\""}})),
      ElementsAre("torch_dtype: is \"float8_e4m3fn\"; allowed: bfloat16, "
                  "float16, float32"));
}

TEST(HfConfigTest, DisplayName) {
  const auto name = [](const char* value) {
    return ImportOrDie(Config("LlamaForCausalLM", {{"_name_or_path", value}}))
        .graph.spec()
        .display_name;
  };
  EXPECT_EQ(name("\"meta-llama/Llama-2-7b-hf\""), "meta-llama/Llama-2-7b-hf");
  EXPECT_EQ(name("\"\""), "LlamaForCausalLM");
  EXPECT_EQ(name("null"), "LlamaForCausalLM");
}

TEST(HfConfigTest, SortsKeysByWhatTheyMean) {
  const ImportedConfig imported = ImportOrDie(
      Config("LlamaForCausalLM", {{"use_cache", "true"},
                                  {"rope_theta", "500000.0"},
                                  {"rope_scaling", R"({"factor": 8.0})"},
                                  {"eos_token_id", "[1, 2]"},
                                  {"pretraining_tp", "2"},
                                  {"made_up", "[0.0, Infinity]"},
                                  {"num_local_experts", "0"},
                                  {"quantization_config", "null"}}));
  EXPECT_THAT(imported.ignored_keys,
              ElementsAre("eos_token_id", "num_local_experts", "pretraining_tp",
                          "quantization_config", "rope_scaling", "rope_theta",
                          "use_cache"));
  EXPECT_THAT(imported.assumptions,
              ElementsAre("key 'made_up' is not known and was taken to "
                          "change no cost"));
}

TEST(HfConfigTest, OtherActivationsAreNamed) {
  EXPECT_THAT(
      ImportOrDie(Config("LlamaForCausalLM", {{"hidden_act", "\"gelu\""}}))
          .assumptions,
      ElementsAre("hidden_act is \"gelu\": counted as gated SiLU"));
}

TEST(HfConfigTest, EarlierViolationsAreKept) {
  Violations violations;
  violations.Add("request", "is odd");
  EXPECT_TRUE(
      ImportHuggingFaceConfig(Config("LlamaForCausalLM"), violations).ok());
  EXPECT_EQ(violations.all().size(), 1u);
}

// The limits named in messages are those of ModelGraph.
TEST(HfConfigTest, LargestModel) {
  const ImportedConfig imported = ImportOrDie(
      Config("LlamaForCausalLM", {{"hidden_size", "16777216"},
                                  {"vocab_size", "268435456"},
                                  {"intermediate_size", "16777216"},
                                  {"num_hidden_layers", "2048"},
                                  {"num_attention_heads", "65536"},
                                  {"num_key_value_heads", "65536"},
                                  {"head_dim", "256"},
                                  {"max_position_embeddings", "1000000000"}}));
  EXPECT_EQ(imported.graph.layer_count(), 2048);
  EXPECT_GT(imported.graph.ParameterCount(), int64_t{3} << 60);
}

TEST(HfConfigTest, AcceptsTheLargestText) {
  const std::string valid = Config("LlamaForCausalLM");
  ImportOrDie(valid + std::string(kMaxConfigBytes - valid.size(), ' '));
}

}  // namespace
}  // namespace mansard::model
