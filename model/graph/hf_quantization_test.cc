// Which formats a file's quantisation stands for.
#include "model/graph/hf_quantization.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Quantized {
  const char* key;
  const char* value;
  Format weights;
  Format activations;
  Format kv_cache;
};

constexpr const char* kConfig = "quantization_config";
constexpr Format kBf16 = Format::kBf16;
constexpr Format kFp8 = Format::kFp8E4m3;
constexpr Format kBlock = Format::kFp8Block;

TEST(HfQuantizationTest, Methods) {
  const Quantized rows[] = {
      {kConfig, R"({"quant_method": "fp8", "activation_scheme": "dynamic",
                    "weight_block_size": [128, 128]})",
       kBlock, kBlock, kBf16},
      {kConfig, R"({"quant_method": "fp8", "activation_scheme": "static",
                    "weight_block_size": null})",
       kFp8, kFp8, kBf16},
      {kConfig, R"({"quant_method": "fbgemm_fp8"})", kFp8, kFp8, kBf16},
      {kConfig, R"({"quant_method": "awq", "bits": 4, "group_size": 128})",
       Format::kInt4, kBf16, kBf16},
      {kConfig, R"({"quant_method": "awq", "bits": 4, "group_size": 64})",
       Format::kInt4Group64, kBf16, kBf16},
      {kConfig, R"({"quant_method": "gptq", "bits": 4, "group_size": 32})",
       Format::kInt4Group32, kBf16, kBf16},
      {kConfig, R"({"quant_method": "gptq", "bits": 8, "group_size": 128})",
       Format::kInt8Group128, kBf16, kBf16},
      {kConfig, R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
                    "load_in_8bit": false})",
       Format::kInt4Group32Symmetric, kBf16, kBf16},
      {kConfig, R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
                    "bnb_4bit_use_double_quant": true})",
       Format::kInt4Symmetric, kBf16, kBf16},
      {kConfig, R"({"quant_method": "bitsandbytes", "load_in_8bit": true})",
       Format::kInt8, Format::kInt8, kBf16},
      {kConfig, R"({"quant_method": "mxfp4",
                    "modules_to_not_convert": ["lm_head"]})",
       Format::kMxfp4, kBf16, kBf16},
      {kConfig, R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
                    "kv_cache_scheme": {"num_bits": 8, "type": "float"}})",
       Format::kNvfp4, Format::kNvfp4, kFp8},
      {kConfig, R"({"quant_method": "modelopt", "quant_algo": "FP8",
                    "kv_cache_quant_algo": "FP8"})",
       kFp8, kFp8, kFp8},
      {kConfig, R"({"quant_method": "modelopt", "quantization":
                    {"quant_algo": "W4A8_AWQ", "kv_cache_quant_algo": null}})",
       Format::kInt4Symmetric, kFp8, kBf16},
      {"compression_config",
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 8, "type": "float",
                        "strategy": "channel"},
            "input_activations": {"num_bits": 8, "type": "float",
                                  "strategy": "token"}}}})",
       kFp8, kFp8, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 8, "type": "float", "strategy": "block",
                        "block_structure": [128, 128]},
            "input_activations": {"num_bits": 8, "type": "float",
                                  "strategy": "group"}}}})",
       kBlock, kBlock, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 8, "type": "int", "strategy": "channel"},
            "input_activations": {"num_bits": 8, "type": "int",
                                  "strategy": "token"}}}})",
       Format::kInt8, Format::kInt8, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "int", "group_size": 128,
                        "symmetric": true},
            "input_activations": null}}})",
       Format::kInt4Symmetric, kBf16, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "int", "group_size": 32,
                        "symmetric": false}}}})",
       Format::kInt4Group32, kBf16, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "float", "group_size": 32}}}})",
       Format::kMxfp4, kBf16, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "float", "group_size": 16},
            "input_activations": {"num_bits": 4, "type": "float",
                                  "group_size": 16}}},
           "kv_cache_scheme": {"num_bits": 8, "type": "float"}})",
       Format::kNvfp4, Format::kNvfp4, kFp8},
      // 4 + 32 / 64 bits: as 16-bit scales of 32 weights.
      {"quantization", R"({"group_size": 64, "bits": 4})",
       Format::kInt4Group32Symmetric, kBf16, kBf16},
      {"quantization", R"({"group_size": 64, "bits": 8})", Format::kInt8Group64,
       kBf16, kBf16},
      {"quantization", R"({"group_size": 32, "bits": 4, "mode": "mxfp4"})",
       Format::kMxfp4, kBf16, kBf16},
  };
  for (const Quantized& row : rows) {
    SCOPED_TRACE(row.value);
    const ImportedConfig imported =
        ImportOrDie(Config("LlamaForCausalLM", {{row.key, row.value}}));
    EXPECT_EQ(imported.graph.spec().native_precision,
              (Precision{row.weights, row.activations, row.kv_cache, kBf16}));
    EXPECT_THAT(imported.assumptions, IsEmpty());
    EXPECT_EQ(imported.graph.spec().layer_kinds.size(), 1u);
    EXPECT_THAT(imported.graph.spec().layer_kinds[0].formats, IsEmpty());
    // MLX changes head and embedding as well.
    EXPECT_EQ(imported.graph.spec().formats.size(),
              std::string(row.key) == "quantization" ? 2u : 0u);
  }
}

TEST(HfQuantizationTest, OtherGroupsAreCountedAsTheNearest) {
  const ImportedConfig imported = ImportOrDie(Config(
      "LlamaForCausalLM", {{kConfig, R"({"quant_method": "gptq", "bits": 4,
                            "group_size": 256})"}}));
  // 4 + 20 / 256 bits; the nearest is 4 + 16 / 128.
  EXPECT_EQ(imported.graph.spec().native_precision.weights,
            Format::kInt4Symmetric);
  EXPECT_THAT(imported.assumptions,
              ElementsAre("quantization_config.bits: groups of 256 take 4.078 "
                          "bits a weight; counted as int4-sym, 4.125"));
}

// Twelve layers: enough for numbers of two digits.
std::string Sparse(const char* quantization) {
  return Config("Qwen3MoeForCausalLM", {{"num_hidden_layers", "12"},
                                        {"num_experts", "4"},
                                        {"num_experts_per_tok", "2"},
                                        {"moe_intermediate_size", "16"},
                                        {"norm_topk_prob", "true"},
                                        {"decoder_sparse_step", "1"},
                                        {"mlp_only_layers", "[0]"},
                                        {"attention_bias", "false"},
                                        {"use_sliding_window", "false"},
                                        {kConfig, quantization}});
}

// What a class of a layer is in: "weights/activations".
std::string FormatsAt(const ModelGraphSpec& spec, size_t layer,
                      LinearClass linear) {
  const auto kind = static_cast<size_t>(spec.layer_kind_indexes[layer]);
  for (const LinearFormats& formats : spec.layer_kinds[kind].formats) {
    if (formats.linear == linear) {
      return absl::StrCat(TraitsOf(formats.weights).name, "/",
                          TraitsOf(formats.activations).name);
    }
  }
  if (!FollowsNativePrecision(linear)) return "wide";
  return absl::StrCat(TraitsOf(spec.native_precision.weights).name, "/",
                      TraitsOf(spec.native_precision.activations).name);
}

struct Place {
  size_t layer;
  LinearClass linear;
  const char* formats;
};

struct Scheme {
  const char* name;
  const char* value;
  size_t kinds;
  std::vector<Place> places;
};

TEST(HfQuantizationTest, NamedModulesHaveTheirOwnFormats) {
  const Scheme schemes[] = {
      {"experts alone, by wildcards",
       R"({"quant_method": "mxfp4", "modules_to_not_convert":
           ["model.layers.*.self_attn", "model.layers.*.mlp.router",
            "model.layers.0.mlp", "model.embed_tokens", "lm_head"]})",
       2,
       {{0, LinearClass::kAttentionInput, "bf16/bf16"},
        {0, LinearClass::kFeedForward, "bf16/bf16"},
        {11, LinearClass::kAttentionOutput, "bf16/bf16"},
        {11, LinearClass::kExperts, "mxfp4/bf16"},
        {11, LinearClass::kRouter, "wide"}}},
      {"numbers of layers",
       R"({"quant_method": "fbgemm_fp8", "modules_to_not_convert":
           ["model.layers.1.mlp.experts", "model.layers.11.self_attn.q_proj",
            "model.layers.11.self_attn.k_proj",
            "model.layers.11.self_attn.v_proj"]})",
       4,
       {{1, LinearClass::kExperts, "bf16/bf16"},
        {1, LinearClass::kAttentionInput, "fp8-e4m3/fp8-e4m3"},
        {2, LinearClass::kExperts, "fp8-e4m3/fp8-e4m3"},
        {11, LinearClass::kExperts, "fp8-e4m3/fp8-e4m3"},
        {11, LinearClass::kAttentionInput, "bf16/bf16"},
        {11, LinearClass::kAttentionOutput, "fp8-e4m3/fp8-e4m3"}}},
      {"expressions, and a name without its place",
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"targets": ["Linear"],
            "weights": {"num_bits": 4, "type": "float", "group_size": 32}}},
           "ignore": ["re:.*self_attn.*", "re:.*mlp\\.(gate|up|down)_proj.*",
                      "lm_head", "gate"]})",
       2,
       {{0, LinearClass::kFeedForward, "bf16/bf16"},
        {0, LinearClass::kAttentionInput, "bf16/bf16"},
        {5, LinearClass::kExperts, "mxfp4/bf16"}}},
      {"groups by target",
       R"({"quant_method": "compressed-tensors", "config_groups": {
           "a": {"targets": ["re:.*experts.*"],
                 "weights": {"num_bits": 4, "type": "float", "group_size": 16},
                 "input_activations": {"num_bits": 4, "type": "float",
                                       "group_size": 16}},
           "b": {"targets": ["re:.*self_attn.*"],
                 "weights": {"num_bits": 8, "type": "float",
                             "strategy": "channel"},
                 "input_activations": {"num_bits": 8, "type": "float"}}}})",
       2,
       {{0, LinearClass::kAttentionInput, "fp8-e4m3/fp8-e4m3"},
        {0, LinearClass::kFeedForward, "bf16/bf16"},
        {7, LinearClass::kAttentionOutput, "fp8-e4m3/fp8-e4m3"},
        {7, LinearClass::kExperts, "nvfp4/nvfp4"},
        {7, LinearClass::kRouter, "wide"}}},
      {"mixed precision by layer",
       R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
           "quantized_layers": {
             "model.layers.3.mlp.experts.0.gate_proj": {"quant_algo": "NVFP4"},
             "model.layers.3.mlp.experts.0.up_proj": {"quant_algo": "NVFP4"},
             "model.layers.3.mlp.experts.0.down_proj": {"quant_algo": "NVFP4"},
             "model.layers.3.self_attn.o_proj": {"quant_algo": "FP8"}}})",
       3,
       {{3, LinearClass::kExperts, "nvfp4/nvfp4"},
        {3, LinearClass::kAttentionOutput, "fp8-e4m3/fp8-e4m3"},
        {3, LinearClass::kAttentionInput, "bf16/bf16"},
        {4, LinearClass::kExperts, "bf16/bf16"}}},
      {"weights of other widths by expression",
       R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic":
           {"-:.*self_attn.*": {},
            "+:.*layers\\.11\\..*": {"bits": 8, "group_size": 128}}})",
       3,
       {{0, LinearClass::kAttentionInput, "bf16/bf16"},
        {10, LinearClass::kExperts, "int4/bf16"},
        {11, LinearClass::kExperts, "int8-g128/bf16"},
        {11, LinearClass::kAttentionOutput, "bf16/bf16"}}},
      {"a part of a layer by its stem",
       R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
           "bnb_4bit_use_double_quant": true, "llm_int8_skip_modules":
           ["lm_head", "model.layers.2.mlp"]})",
       3,
       {{2, LinearClass::kExperts, "bf16/bf16"},
        {2, LinearClass::kAttentionInput, "int4-sym/bf16"},
        {3, LinearClass::kExperts, "int4-sym/bf16"}}},
  };
  for (const Scheme& scheme : schemes) {
    SCOPED_TRACE(scheme.name);
    const ImportedConfig imported = ImportOrDie(Sparse(scheme.value));
    const ModelGraphSpec& spec = imported.graph.spec();
    EXPECT_EQ(spec.layer_kinds.size(), scheme.kinds);
    EXPECT_EQ(imported.graph.layer_count(), 12);
    for (const Place& place : scheme.places) {
      EXPECT_EQ(FormatsAt(spec, place.layer, place.linear), place.formats)
          << place.layer << " " << LinearClassName(place.linear);
    }
    EXPECT_THAT(spec.formats, IsEmpty());
    EXPECT_THAT(imported.assumptions, IsEmpty());
  }
}

// All modules but those named, the tables and routers among them.
TEST(HfQuantizationTest, MlxChangesEverythingUnlessItIsNamed) {
  const ImportedConfig imported =
      ImportOrDie(Config("Qwen3MoeForCausalLM",
                         {{"num_experts", "4"},
                          {"num_experts_per_tok", "2"},
                          {"moe_intermediate_size", "16"},
                          {"norm_topk_prob", "true"},
                          {"decoder_sparse_step", "1"},
                          {"mlp_only_layers", "[]"},
                          {"attention_bias", "false"},
                          {"use_sliding_window", "false"},
                          {"quantization",
                           R"({"group_size": 64, "bits": 4, "lm_head": false,
            "model.layers.1.mlp.gate": {"group_size": 64, "bits": 8}})"}}));
  const ModelGraphSpec& spec = imported.graph.spec();
  EXPECT_EQ(FormatsAt(spec, 0, LinearClass::kRouter), "int4-g32-sym/bf16");
  EXPECT_EQ(FormatsAt(spec, 1, LinearClass::kRouter), "int8-g64/bf16");
  EXPECT_THAT(spec.formats,
              ElementsAre(LinearFormats{LinearClass::kEmbedding,
                                        Format::kInt4Group32Symmetric, kBf16}));
}

TEST(HfQuantizationTest, SaysWhatItCannotTellApart) {
  const ImportedConfig imported =
      ImportOrDie(Sparse(R"({"quant_method": "fp8", "modules_to_not_convert":
                 ["model.layers.4.self_attn.q_proj", "model.visual",
                  "model.layers.0.input_layernorm", "magic", "wand*"]})"));
  EXPECT_EQ(FormatsAt(imported.graph.spec(), 4, LinearClass::kAttentionInput),
            "fp8-e4m3/fp8-e4m3");
  EXPECT_THAT(
      imported.assumptions,
      ElementsAre("quantization_config tells apart the modules of one class: "
                  "attention_input of layer 4 as fp8-e4m3, as most of its "
                  "modules are",
                  "quantization_config names 2 modules that are no known "
                  "linear layer of the decoder: magic, wand*"));
}

TEST(HfQuantizationTest, SideFileOfModelOpt) {
  constexpr absl::string_view kSide = R"({"producer": {"name": "modelopt"},
      "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8",
                       "group_size": 16, "exclude_modules":
                       ["lm_head", "model.layers.1.self_attn*"]}})";
  const auto import = [](const std::string& config, absl::string_view side) {
    Violations violations;
    auto imported = ImportHuggingFaceConfig(config, {side, ""}, violations);
    EXPECT_TRUE(imported.ok()) << imported.status();
    return *std::move(imported);
  };
  const ImportedConfig alone = import(Config("LlamaForCausalLM"), kSide);
  const ModelGraphSpec& spec = alone.graph.spec();
  EXPECT_EQ(spec.native_precision,
            (Precision{Format::kNvfp4, Format::kNvfp4, kFp8, kBf16}));
  EXPECT_EQ(spec.layer_kind_indexes, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(FormatsAt(spec, 1, LinearClass::kAttentionInput), "bf16/bf16");
  EXPECT_EQ(FormatsAt(spec, 1, LinearClass::kFeedForward), "nvfp4/nvfp4");
  EXPECT_THAT(alone.assumptions, IsEmpty());

  const ImportedConfig both = import(
      Config("LlamaForCausalLM", {{kConfig, R"({"quant_method": "fp8"})"}}),
      kSide);
  EXPECT_EQ(both.graph.spec().native_precision.weights, kFp8);
  EXPECT_THAT(both.assumptions,
              ElementsAre("hf_quant_config.json is not used: "
                          "quantization_config of the config.json holds"));

  Violations violations;
  EXPECT_FALSE(ImportHuggingFaceConfig(Config("LlamaForCausalLM"),
                                       {R"({"quantization":
                                            {"quant_algo": "FP2"}})",
                                        ""},
                                       violations)
                   .ok());
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].field,
            "hf_quant_config.json:quantization.quant_algo");
}

// 3 layers of 8 x (8 + 2 x 4) + 8 x 8 + 3 x 8 x 16 + 2 x 8 = 592, two tables of
// 10 x 8, a norm: 1,944 parameters, 3,888 bytes.
TEST(HfQuantizationTest, AnIndexBringsTheBytesOfOtherWeights) {
  const auto import = [](int64_t total) {
    Violations violations;
    auto imported = ImportHuggingFaceConfig(
        Config("LlamaForCausalLM"),
        {"", absl::StrCat(R"({"metadata": {"total_size": )", total, "}}")},
        violations);
    EXPECT_TRUE(imported.ok()) << imported.status();
    return *std::move(imported);
  };
  EXPECT_EQ(import(3888).graph.ParameterCount(), 1944);
  EXPECT_THAT(import(3888).assumptions, IsEmpty());
  EXPECT_THAT(import(3860).assumptions, IsEmpty());  // Within 1 %.
  const ImportedConfig more = import(5888);
  EXPECT_EQ(more.graph.spec().other_weight_bytes, 2000);
  EXPECT_THAT(more.graph.spec().other_weight_source,
              HasSubstr("metadata.total_size"));
  EXPECT_THAT(more.assumptions, Contains(HasSubstr("held as other weights")));
  const ImportedConfig less = import(3000);
  EXPECT_EQ(less.graph.spec().other_weight_bytes, 0);
  EXPECT_THAT(less.assumptions, Contains(HasSubstr("more than 1 % apart")));
  Violations violations;
  EXPECT_FALSE(ImportHuggingFaceConfig(Config("LlamaForCausalLM"),
                                       {"", R"({"metadata": {}})"}, violations)
                   .ok());
  EXPECT_EQ(violations.all()[0].field,
            "model.safetensors.index.json:metadata.total_size");
}

struct Refused {
  const char* key;
  const char* value;
  const char* refusal;
};

TEST(HfQuantizationTest, Refusals) {
  const Refused rows[] = {
      {kConfig, R"({"quant_method": "quip"})",
       "quantization_config.quant_method: is \"quip\"; known: awq, "
       "bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq, modelopt, "
       "mxfp4"},
      {kConfig, R"({"bits": 4})",
       "quantization_config.quant_method: is absent; known: awq"},
      {kConfig, R"({"quant_method": "awq", "bits": 3})",
       "quantization_config.bits: is 3; allowed: 4, 8"},
      {kConfig, R"({"quant_method": "gptq"})",
       "quantization_config.bits: is missing; must be an integer"},
      {kConfig, R"({"quant_method": "bitsandbytes"})",
       "quantization_config.load_in_4bit: is off, and so is load_in_8bit"},
      {kConfig, R"({"quant_method": "modelopt", "quant_algo": "FP5"})",
       "quantization_config.quant_algo: is \"FP5\"; allowed: FP8"},
      {kConfig,
       R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})",
       "quantization_config.quantized_layers: is missing or empty"},
      {kConfig,
       R"({"quant_method": "modelopt", "quant_algo": "FP8",
           "kv_cache_quant_algo": "FP6"})",
       "quantization_config.kv_cache_quant_algo: is \"FP6\"; allowed: FP8"},
      {kConfig, R"({"quant_method": "compressed-tensors"})",
       "quantization_config.config_groups: has no group with weights"},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups":
           {"a": {"weights": {"num_bits": 2, "type": "int"}}}})",
       "quantization_config.config_groups.a.weights.num_bits: is 2 of type "
       "\"int\"; allowed: 8 and 4, float or int"},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups":
           {"a": {"weights": {"num_bits": 4, "type": "int"}}},
           "ignore": ["re:("]})",
       "quantization_config.ignore[0]: is \"re:(\"; must be a regular "
       "expression"},
      {"quantization", "4", "quantization: is 4; must be an object"},
  };
  for (const Refused& row : rows) {
    SCOPED_TRACE(row.value);
    EXPECT_THAT(mansard::model::Refusals(
                    Config("LlamaForCausalLM", {{row.key, row.value}})),
                ElementsAre(HasSubstr(row.refusal)));
  }
}

TEST(HfQuantizationTest, SwitchedOff) {
  for (const char* off : {"null", "{}"}) {
    const ImportedConfig imported =
        ImportOrDie(Config("LlamaForCausalLM", {{kConfig, off}}));
    EXPECT_EQ(imported.graph.spec().native_precision, Precision());
    EXPECT_THAT(imported.ignored_keys, ElementsAre(kConfig));
  }
}

}  // namespace
}  // namespace mansard::model
