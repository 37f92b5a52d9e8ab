// Published quantised files import with the formats that their publishers name,
// and take the bytes that an engine measured. The files live beside the
// repository, not in it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/graph/hf_config.h"
#include "model/graph/weight_bytes.h"

namespace mansard::model {
namespace {

using ::testing::IsEmpty;

std::string Folder() { return MANSARD_SOURCE_DIR "/../shared/model_configs/"; }

// Empty where there is none.
std::string ReadText(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// "weights/activations" of a class in a layer; "-" where the layer has none.
std::string At(const ModelGraphSpec& spec, size_t layer, LinearClass linear) {
  const LayerKind& kind =
      spec.layer_kinds[static_cast<size_t>(spec.layer_kind_indexes[layer])];
  if (!HasLinear(kind, linear)) return "-";
  const auto text = [](Format weights, Format activations) {
    return absl::StrCat(TraitsOf(weights).name, "/",
                        TraitsOf(activations).name);
  };
  for (const LinearFormats& formats : kind.formats) {
    if (formats.linear == linear) {
      return text(formats.weights, formats.activations);
    }
  }
  if (!FollowsNativePrecision(linear)) return "wide";
  return text(spec.native_precision.weights, spec.native_precision.activations);
}

constexpr LinearClass kIn = LinearClass::kAttentionInput;
constexpr LinearClass kOut = LinearClass::kAttentionOutput;
constexpr LinearClass kDense = LinearClass::kFeedForward;
constexpr LinearClass kExperts = LinearClass::kExperts;
constexpr LinearClass kShared = LinearClass::kSharedExperts;

struct Place {
  size_t layer;
  LinearClass linear;
  const char* formats;
};

struct Published {
  const char* file;  // Without .json.
  Format kv_cache;
  std::vector<Place> places;
};

// By the quantisation columns of the index, and what the files name.
std::vector<Published> Files() {
  const char* const block = "fp8-block/fp8-block";
  const char* const fp8 = "fp8-e4m3/fp8-e4m3";
  const char* const nvfp4 = "nvfp4/nvfp4";
  const char* const wide = "bf16/bf16";
  constexpr Format kBf16 = Format::kBf16;
  constexpr Format kFp8 = Format::kFp8E4m3;
  const std::vector<Place> deepseek = {{0, kDense, block},
                                       {3, kIn, block},
                                       {60, kExperts, block},
                                       {60, kShared, block},
                                       {60, LinearClass::kRouter, "wide"}};
  return {
      {"deepseek-ai__DeepSeek-R1", kBf16, deepseek},
      {"deepseek-ai__DeepSeek-V3", kBf16, deepseek},
      {"deepseek-ai__DeepSeek-V3.2", kBf16, deepseek},
      {"deepseek-ai__DeepSeek-V4-Flash",
       kBf16,
       {{0, kIn, block},
        {0, kExperts, "mxfp4/fp8-block"},
        {42, kShared, block},
        {42, kOut, block}}},
      {"meta-llama__Llama-3.1-405B-Instruct-FP8",
       kBf16,
       {{0, kIn, wide},
        {0, kOut, wide},
        {0, kDense, wide},
        {1, kIn, fp8},
        {1, kDense, fp8},
        {124, kDense, fp8},
        {125, kDense, wide},
        {125, kIn, fp8}}},
      {"meta-llama__Llama-4-Maverick-17B-128E-Instruct-FP8",
       kBf16,
       {{0, kIn, fp8},
        {0, kDense, fp8},
        {1, kExperts, fp8},
        {1, LinearClass::kRouter, "wide"}}},
      {"MiniMaxAI__MiniMax-M2.5",
       kBf16,
       {{0, kIn, block}, {61, kExperts, block}}},
      {"MiniMaxAI__MiniMax-M2",
       kBf16,
       {{0, kIn, block}, {61, kExperts, block}}},
      {"mistralai__Devstral-2-123B-Instruct",
       kBf16,
       {{0, kIn, fp8}, {87, kDense, fp8}}},
      {"mlx-community__dbrx-instruct-4bit",
       kBf16,
       {{0, kIn, "int4-g32-sym/bf16"},
        {39, kExperts, "int4-g32-sym/bf16"},
        {39, LinearClass::kRouter, "int4-g32-sym/bf16"}}},
      {"moonshotai__Kimi-K2-Instruct",
       kBf16,
       {{0, kDense, block}, {60, kExperts, block}}},
      {"moonshotai__Kimi-K3",
       kBf16,
       {{0, LinearClass::kRecurrent, wide},
        {3, kIn, wide},
        {3, kOut, wide},
        {0, kDense, wide},
        {60, kShared, wide},
        {60, kExperts, "mxfp4/bf16"}}},
      {"NousResearch__Meta-Llama-3-8B-Instruct-bnb-nf4",
       kBf16,
       {{0, kIn, "int4-sym/bf16"}, {31, kDense, "int4-sym/bf16"}}},
      {"nvidia__Gemma-4-31B-IT-NVFP4",
       kFp8,
       {{0, kIn, wide}, {59, kOut, wide}, {0, kDense, nvfp4}}},
      {"nvidia__Llama-3.1-70B-Instruct-FP8",
       kFp8,
       {{0, kIn, fp8}, {79, kDense, fp8}}},
      {"nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
       kFp8,
       {{0, LinearClass::kRecurrent, fp8},
        {1, kExperts, fp8},
        {1, kShared, fp8},
        {1, LinearClass::kLatentExperts, fp8},
        {1, LinearClass::kRouter, "wide"}}},
      {"nvidia__Qwen3-235B-A22B-NVFP4",
       kFp8,
       {{0, kExperts, nvfp4}, {93, LinearClass::kRouter, "wide"}}},
      {"openai__gpt-oss-120b",
       kBf16,
       {{0, kIn, wide}, {35, kOut, wide}, {35, kExperts, "mxfp4/bf16"}}},
      {"openai__gpt-oss-20b",
       kBf16,
       {{0, kIn, wide}, {23, kOut, wide}, {23, kExperts, "mxfp4/bf16"}}},
      {"Qwen__Qwen2-VL-2B-Instruct-AWQ",
       Format::kFp16,
       {{0, kIn, "int4/fp16"}, {27, kDense, "int4/fp16"}}},
      {"Qwen__Qwen3-235B-A22B-FP8",
       kBf16,
       {{0, kIn, block}, {93, kExperts, block}}},
      {"Qwen__Qwen3-32B-FP8", kBf16, {{0, kIn, block}, {63, kDense, block}}},
      {"Qwen__Qwen3-8B-FP8", kBf16, {{0, kIn, block}, {35, kDense, block}}},
  };
}

ImportedConfig Import(const std::string& name) {
  const std::string side =
      ReadText(absl::StrCat(Folder(), name, ".hf_quant_config.json"));
  Violations violations;
  absl::StatusOr<ImportedConfig> imported = ImportHuggingFaceConfig(
      ReadText(absl::StrCat(Folder(), name, ".json")), {side, ""}, violations);
  EXPECT_TRUE(imported.ok()) << name << ": " << imported.status();
  return *std::move(imported);
}

class PublishedQuantizationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Folder() + "index.csv")) {
      GTEST_SKIP() << "no published files at " << Folder();
    }
  }
};

TEST_F(PublishedQuantizationTest, EveryFileHasTheFormatsItNames) {
  for (const Published& file : Files()) {
    SCOPED_TRACE(file.file);
    const ImportedConfig imported = Import(file.file);
    const ModelGraphSpec& spec = imported.graph.spec();
    EXPECT_EQ(spec.native_precision.kv_cache, file.kv_cache);
    for (const Place& place : file.places) {
      ASSERT_LT(place.layer, spec.layer_kind_indexes.size());
      EXPECT_EQ(At(spec, place.layer, place.linear), place.formats)
          << place.layer << " " << LinearClassName(place.linear);
    }
    for (const std::string& assumption : imported.assumptions) {
      EXPECT_EQ(assumption.find("tells apart"), std::string::npos)
          << assumption;
      EXPECT_EQ(assumption.find("no known"), std::string::npos) << assumption;
    }
  }
}

double Gibibytes(Bytes bytes) { return bytes.value() / (1 << 30); }

// By hand, in GiB; what an engine measured in brackets.
//   gpt-oss-20b: 24 x 32 experts of 3 x 2880 x 2880 at 4.25 bits (10.15e9 B),
//   their biases, attention and two tables of 201,088 x 2880 at 16 bits. The
//   engine pads an expert's width of 2880 to 3072, which makes 3 x 192 x 2880
//   more weights of each: 0.63 GiB, 13.45 in all (13.47); of 120b, with 36 x
//   128 experts, 3.78 GiB and 64.55 (64.38).
//   Llama-3.3-70B has the shapes of 3.1: layers 68.45e9 B in 8 bits, two tables
//   of 128,256 x 8192 in 16 (33.88 on each of two ranks).
//   DeepSeek-V3: 671.03e9 parameters, all but tables, router and norms in 8
//   bits with an fp32 scale a 128 x 128 block.
TEST_F(PublishedQuantizationTest, WeightsTakeTheirBytes) {
  EXPECT_NEAR(Gibibytes(StoredWeightBytes(Import("openai__gpt-oss-20b").graph)),
              12.816, 0.005);
  EXPECT_NEAR(
      Gibibytes(StoredWeightBytes(Import("openai__gpt-oss-120b").graph)),
      60.768, 0.01);
  EXPECT_NEAR(Gibibytes(StoredWeightBytes(
                  Import("nvidia__Llama-3.1-70B-Instruct-FP8").graph)),
              2 * 33.88, 0.15);
  EXPECT_NEAR(Gibibytes(StoredWeightBytes(Import("Qwen__Qwen3-32B").graph)),
              61.03, 0.02);
  EXPECT_NEAR(
      Gibibytes(StoredWeightBytes(Import("deepseek-ai__DeepSeek-V3").graph)),
      626.9, 0.5);
}

}  // namespace
}  // namespace mansard::model
