// Which formats a file's quantisation stands for.
#include "model/graph/hf_quantization.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/hf_test_files.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Quantized {
  const char* key;
  const char* value;
  Format weights;
  Format activations;
  Format kv_cache;
};

TEST(HfQuantizationTest, Methods) {
  constexpr const char* kConfig = "quantization_config";
  constexpr Format kBf16 = Format::kBf16;
  constexpr Format kFp8 = Format::kFp8E4m3;
  constexpr Format kBlock = Format::kFp8Block;
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
      {kConfig, R"({"quant_method": "gptq", "bits": 8})", Format::kInt8, kBf16,
       kBf16},
      {kConfig, R"({"quant_method": "bitsandbytes", "load_in_4bit": true,
                    "load_in_8bit": false})",
       Format::kInt4, kBf16, kBf16},
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
      {"compression_config",
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 8, "type": "float",
                        "strategy": "channel"},
            "input_activations": {"num_bits": 8, "type": "float",
                                  "strategy": "token"}}}})",
       kFp8, kFp8, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 8, "type": "float", "strategy": "block"},
            "input_activations": {"num_bits": 8, "type": "float",
                                  "strategy": "group"}}}})",
       kBlock, kBlock, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "int", "group_size": 128},
            "input_activations": null}}})",
       Format::kInt4, kBf16, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "float", "group_size": 32}}}})",
       Format::kMxfp4, kBf16, kBf16},
      {kConfig,
       R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "float", "group_size": 16},
            "input_activations": {"num_bits": 4, "type": "float",
                                  "group_size": 16}}}})",
       Format::kNvfp4, Format::kNvfp4, kBf16},
      {"quantization", R"({"group_size": 64, "bits": 4})", Format::kInt4, kBf16,
       kBf16},
  };
  for (const Quantized& row : rows) {
    SCOPED_TRACE(row.value);
    const ImportedConfig imported =
        ImportOrDie(Config("LlamaForCausalLM", {{row.key, row.value}}));
    EXPECT_EQ(imported.graph.spec().native_precision,
              (Precision{row.weights, row.activations, row.kv_cache, kBf16}));
    EXPECT_THAT(
        imported.assumptions,
        ElementsAre(std::string(row.key) +
                    ": all weights of projections count as " +
                    std::string(TraitsOf(row.weights).name) +
                    "; those that the file leaves unquantised are not told "
                    "apart"));
  }
}

struct Refused {
  const char* key;
  const char* value;
  const char* refusal;
};

TEST(HfQuantizationTest, Refusals) {
  const Refused rows[] = {
      {"quantization_config", R"({"quant_method": "quip"})",
       "quantization_config.quant_method: is \"quip\"; known: awq, "
       "bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq, modelopt, "
       "mxfp4"},
      {"quantization_config", R"({"bits": 4})",
       "quantization_config.quant_method: is absent; known: awq"},
      {"quantization_config", R"({"quant_method": "awq", "bits": 3})",
       "quantization_config.bits: is 3; allowed: 4, 8"},
      {"quantization_config", R"({"quant_method": "gptq"})",
       "quantization_config.bits: is missing; must be an integer"},
      {"quantization_config", R"({"quant_method": "bitsandbytes"})",
       "quantization_config.load_in_4bit: is off, and so is load_in_8bit"},
      {"quantization_config",
       R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})",
       "quantization_config.quant_algo: is \"MIXED_PRECISION\"; allowed: FP8"},
      {"quantization_config", R"({"quant_method": "compressed-tensors"})",
       "quantization_config.config_groups: has no group with weights"},
      {"quantization_config",
       R"({"quant_method": "compressed-tensors", "config_groups":
           {"a": {"weights": {"num_bits": 2, "type": "int"}}}})",
       "quantization_config.config_groups.a.weights.num_bits: is 2 of type "
       "\"int\"; allowed: 8 and 4, float or int"},
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
        ImportOrDie(Config("LlamaForCausalLM", {{"quantization_config", off}}));
    EXPECT_EQ(imported.graph.spec().native_precision, Precision());
    EXPECT_THAT(imported.ignored_keys, ElementsAre("quantization_config"));
  }
}

}  // namespace
}  // namespace mansard::model
