// Engines' settings by the columns of their runs.

#include "calibrate/tables/serving_recipes.h"

#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using model::Admission;

struct Case {
  const char* engine;
  const char* version;
  const char* device;
  const char* model;
  const char* precision;
  int64_t tensor;
  double input;
  double output;
  double concurrency;
  int64_t tokens;
  Admission admission;
};

ServingRow RowOf(const Case& said) {
  ServingRow row;
  row.engine = said.engine;
  row.version = said.version;
  row.device = said.device;
  row.model = said.model;
  row.precision = said.precision;
  row.layout.tensor = said.tensor;
  row.input_tokens = said.input;
  row.output_tokens = said.output;
  row.concurrency = said.concurrency;
  row.load = LoadType::kFixedConcurrency;
  return row;
}

constexpr char kB200[] = "B200_SXM";
constexpr char kH200[] = "H200_SXM";
constexpr char kR1[] = "DeepSeek-R1";
constexpr char kLlama[] = "Llama-3.1-70B";
constexpr char kQwen[] = "Qwen3.5-397B-A17B";
constexpr char kTrt[] = "TensorRT-LLM";

TEST(ServingRecipes, AreThoseOfTheBenchmark) {
  const Case cases[] = {
      {"vLLM", "", kB200, kLlama, "fp8", 1, 1024, 1024, 64, 8192, {}},
      // dsr1_fp4_b200.sh
      {"SGLang", "0.5.9", kB200, kR1, "fp4", 8, 1024, 1024, 8, 16384, {10}},
      {"SGLang", "0.5.9", kB200, kR1, "fp4", 8, 1024, 1024, 16, 16384, {30}},
      // dsr1_fp8_b200.sh
      {"SGLang", "0.5.9", kB200, kR1, "fp8", 8, 8192, 1024, 64, 32768, {30}},
      {"SGLang", "0.5.9", kB200, kR1, "fp8", 4, 8192, 1024, 16, 8192, {10}},
      // dsr1_fp8_h200.sh
      {"SGLang", "0.5.9", kH200, kR1, "fp8", 8, 1024, 1024, 64, 32768, {}},
      // qwen3.5_fp8_b300.sh, qwen3.5_bf16_b200.sh
      {"SGLang",
       "0.5.10.post1",
       "B300_SXM",
       kQwen,
       "fp8",
       4,
       1024,
       1024,
       64,
       16384,
       {10}},
      {"SGLang", "", kB200, kQwen, "bf16", 8, 1024, 8192, 64, 32768, {30}},
      // 70b_fp8_h200_trt_slurm.sh
      {kTrt, "", kH200, kLlama, "fp8", 4, 1024, 1024, 4, 16384, {1, 20, .9}},
      {kTrt, "", kH200, kLlama, "fp8", 8, 1024, 1024, 4, 16384, {}},
      {kTrt, "", kH200, kLlama, "fp8", 4, 1024, 8192, 4, 16384, {}},
      // gptoss_fp4_b200_trt.sh
      {kTrt, "", kB200, "gpt-oss-120b", "fp4", 1, 1024, 1024, 4, 20000, {}},
      // dsr1_fp8_b200_trt.sh: (64 + 1024 + 127) / 64 x 64 tokens before.
      {kTrt, "", kB200, kR1, "fp8", 8, 1024, 1024, 64, 1152, {}},
      {kTrt,
       "1.2.0rc6.post2",
       kB200,
       kR1,
       "fp8",
       8,
       1024,
       1024,
       64,
       8192,
       {1, 40, .8}},
      {kTrt, "1.2.0rc6.post2", kB200, kR1, "fp8", 8, 8192, 1024, 64, 8320, {}},
      // Of other runs nothing is known.
      {kTrt, "", kH200, kLlama, "fp8", 4, 4000, 1000, 4, 0, {}},
      {"SGLang", "", kB200, "Llama-3.1-8B", "fp8", 1, 1024, 1024, 4, 0, {}},
  };
  for (const Case& said : cases) {
    const ServingRecipe recipe = RecipeOf(RowOf(said));
    SCOPED_TRACE(testing::Message()
                 << said.engine << " " << said.version << " " << said.device
                 << " " << said.model << " " << said.input << "/" << said.output
                 << " x " << said.concurrency);
    EXPECT_EQ(recipe.max_batched_tokens, said.tokens);
    EXPECT_EQ(recipe.admission, said.admission);
  }
}

TEST(ServingRecipes, NoneOfPoolsOrStaticBatches) {
  ServingRow row =
      RowOf({"SGLang", "", kB200, kR1, "fp4", 8, 1024, 1024, 16, 0, {}});
  row.mode = ServingMode::kDisaggregated;
  EXPECT_EQ(RecipeOf(row).max_batched_tokens, 0);
  row.mode = ServingMode::kAggregated;
  row.load = LoadType::kStaticBatch;
  EXPECT_EQ(RecipeOf(row).max_batched_tokens, 0);
}

}  // namespace
}  // namespace mansard::calibrate
