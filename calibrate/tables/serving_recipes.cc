#include "calibrate/tables/serving_recipes.h"

#include <algorithm>

#include "calibrate/tables/serving_rules.h"

namespace mansard::calibrate {
namespace {

constexpr char kDeepSeek[] = "DeepSeek-R1/V3";

bool IsBlackwell(const ServingRow& row) {
  return row.device == "B200_SXM" || row.device == "B300_SXM" ||
         row.device == "GB200";
}

bool IsOf(const ServingRow& row, double input, double output) {
  return row.input_tokens == input && row.output_tokens == output;
}

int64_t InFlight(const ServingRow& row) {
  return static_cast<int64_t>(row.in_flight());
}

// "--scheduler-recv-interval" of most recipes.
int64_t PollsByLoad(const ServingRow& row) {
  return row.in_flight() >= 16 ? 30 : 10;
}

ServingRecipe SglangDeepSeek(const ServingRow& row) {
  if (!IsBlackwell(row)) {
    return {32768, {}};
  }
  if (row.precision == "fp4") return {16384, {PollsByLoad(row)}};
  if (row.layout.tensor == 4) return {8192, {10}};
  return {32768, {PollsByLoad(row)}};
}

ServingRecipe SglangQwen(const ServingRow& row) {
  if (row.device == "B300_SXM" && row.precision == "fp8" &&
      row.version == "0.5.10.post1") {
    return {16384, {10}};
  }
  return {32768, {PollsByLoad(row)}};
}

ServingRecipe SglangGlm(const ServingRow& row) {
  if (!IsBlackwell(row)) return {};
  return {row.precision == "fp4" ? 131072 : 32768, {}};
}

ServingRecipe Sglang(const ServingRow& row) {
  if (ModelFamily(row) == kDeepSeek) return SglangDeepSeek(row);
  if (row.model == "Qwen3.5-397B-A17B") return SglangQwen(row);
  if (row.model == "GLM-5") return SglangGlm(row);
  return {};
}

ServingRecipe TensorRtDeepSeek(const ServingRow& row) {
  // Room for one prompt beside the decodes; later at least 8192.
  int64_t tokens =
      (InFlight(row) + static_cast<int64_t>(row.input_tokens) + 127) / 64 * 64;
  ServingRecipe recipe;
  if (!row.version.empty()) tokens = std::max<int64_t>(tokens, 8192);
  recipe.max_batched_tokens = tokens;
  if (row.version == "1.2.0rc6.post2" && row.precision == "fp8" &&
      IsOf(row, 1024, 1024) && row.in_flight() >= 64) {
    recipe.admission.batch_wait_passes = 40;
    recipe.admission.batch_wait_token_share = 0.8;
  }
  return recipe;
}

ServingRecipe TensorRt(const ServingRow& row) {
  if (ModelFamily(row) == kDeepSeek) return TensorRtDeepSeek(row);
  if (row.model == "gpt-oss-120b") return {20000, {}};
  if (row.model != "Llama-3.1-70B") return {};
  ServingRecipe recipe = {16384, {}};
  if (IsOf(row, 1024, 1024) && row.layout.tensor < 8) {
    recipe.admission.batch_wait_passes = 20;
    recipe.admission.batch_wait_token_share = 0.9;
  }
  return recipe;
}

}  // namespace

ServingRecipe RecipeOf(const ServingRow& row) {
  if (row.mode != ServingMode::kAggregated ||
      row.load != LoadType::kFixedConcurrency ||
      !(IsOf(row, 1024, 1024) || IsOf(row, 1024, 8192) ||
        IsOf(row, 8192, 1024))) {
    return {};
  }
  if (row.engine == "SGLang") return Sglang(row);
  if (row.engine == "TensorRT-LLM") return TensorRt(row);
  if (row.engine != "vLLM") return {};
  return {8192, {}};
}

}  // namespace mansard::calibrate
