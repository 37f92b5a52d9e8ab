// One serving engine's start-up logs on the H100 (Mansard design, counting,
// "Measured memory"), GiB of 79.18.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>

#include "model/estimate/estimate.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::TargetOn;
using mansard::testing::ToyHardware;

struct Start {
  const char* model;
  int tensor;
  double fraction;
  double weights;
  double activation_peak;
  double non_framework;
  double pool;
};
void PrintTo(const Start& start, std::ostream* out) {
  *out << start.model << " tp " << start.tensor;
}

constexpr Start kText[] = {
    {"llama-3.3-70b-fp8", 2, 0.9, 33.88, 4.84, 0.55, 32.00},
    {"llama-3.1-8b", 1, 0.9, 14.99, 4.76, 0.13, 51.38},
    {"qwen3-0.6b", 1, 0.9, 1.12, 5.56, 0.13, 64.45},
    {"qwen3-32b", 1, 0.9, 61.03, 5.64, 0.14, 4.45},
    {"qwen3-32b", 2, 0.9, 30.59, 5.64, 0.54, 34.49},
};
constexpr Start kGptOss20b = {"gpt-oss-20b", 1, 0.9, 13.47, 7.38, 0.13, 50.28};
constexpr Start kGptOss120b = {"gpt-oss-120b", 1,    0.95, 64.38,
                               7.38,           0.13, 3.33};
constexpr Start kMistral = {
    "mistral-small-3.2-24b", 1, 0.95, 44.76, 2.12, 0.14, 28.20};

double ToGibibytes(Bytes bytes) { return bytes / Gibibytes(1); }

// openai/gpt-oss-20b and -120b.
ModelGraphSpec GptOss(int layers, int experts) {
  ModelGraphSpec spec;
  spec.hidden_size = 2880;
  spec.vocabulary_size = 201088;
  spec.max_context = 131072;
  LayerKind full{
      .name = "full",
      .attention = GroupedQueryAttention{.query_heads = 64,
                                         .kv_heads = 8,
                                         .head_size = 64,
                                         .qkv_bias = true,
                                         .output_bias = true,
                                         .sinks = true},
      .feed_forward = MixtureOfExperts{.expert_count = experts,
                                       .experts_per_token = 4,
                                       .expert_intermediate_size = 2880,
                                       .router_bias = true,
                                       .expert_bias = true}};
  full.formats = {{LinearClass::kExperts, Format::kMxfp4, Format::kBf16}};
  LayerKind window = full;
  window.name = "window";
  std::get<GroupedQueryAttention>(*window.attention).sliding_window = 128;
  spec.layer_kinds = {window, full};
  for (int i = 0; i < layers; ++i) spec.layer_kind_indexes.push_back(i % 2);
  return spec;
}

class MeasuredMemory : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto shipped = LoadShippedData();
    ASSERT_TRUE(shipped.ok()) << shipped.status();
    shipped_ = new ShippedData(*std::move(shipped));
  }
  static void TearDownTestSuite() {
    delete shipped_;
    shipped_ = nullptr;
  }

  static std::shared_ptr<const ModelGraph> GraphOf(const Start& start) {
    const std::string model = start.model;
    if (model == "gpt-oss-20b") return BuildGraph(GptOss(24, 32));
    if (model == "gpt-oss-120b") return BuildGraph(GptOss(36, 128));
    if (model == "llama-3.3-70b-fp8") {
      return shipped_->graphs.at("llama-3.1-70b");
    }
    return shipped_->graphs.at(model);
  }

  static MemoryFootprint FootprintOn(const Start& start,
                                     const EngineMemory& engine) {
    ToyHardware toy;
    toy.device.hbm.capacity.value = Gibibytes(79.18);
    toy.stack.memory = engine;
    TargetSpec spec = TargetOn(GraphOf(start), toy.Build(), start.tensor);
    if (start.model == std::string("llama-3.3-70b-fp8")) {
      spec.weights = Format::kFp8E4m3;
    }
    return EstimatePass(BuildTarget(spec), DecodePass(1, 1)).memory;
  }

  // The engine's own measurements of all that the model's shape does not say.
  static MemoryFootprint WithMeasuredPeak(const Start& start) {
    return FootprintOn(start,
                       {.usable_fraction = start.fraction,
                        .framework = Gibibytes(start.non_framework),
                        .fixed_workspace = Gibibytes(start.activation_peak),
                        .block_tokens = 16,
                        .unified_pages = true,
                        .mxfp4_width_multiple = 256});
  }

  static EngineMemory Default(double fraction) {
    ToyHardware toy;
    toy.device.hbm.capacity.value = Gibibytes(79.18);
    EngineMemory engine = DefaultEngineMemory(toy.Build()->device());
    engine.usable_fraction = fraction;
    return engine;
  }

  static ShippedData* shipped_;
};
ShippedData* MeasuredMemory::shipped_ = nullptr;

TEST_F(MeasuredMemory, WeightsAndPoolOfTextModels) {
  for (const Start& start : kText) {
    SCOPED_TRACE(::testing::PrintToString(start));
    const MemoryFootprint memory = WithMeasuredPeak(start);
    // Of the smallest model half a percent is less than the last digit.
    EXPECT_NEAR(ToGibibytes(memory.weights), start.weights,
                std::max(0.01, 0.005 * start.weights));
    EXPECT_NEAR(ToGibibytes(memory.kv_budget()) / start.pool, 1, 0.01);
  }
}

// The experts' width of 2880 is padded to 3072. The smaller model's weights
// are then 0.2 % below, the larger one's 0.3 % above, of which its pool, a
// twentieth of them, is 5 % smaller.
TEST_F(MeasuredMemory, PaddedExperts) {
  const MemoryFootprint small = WithMeasuredPeak(kGptOss20b);
  EXPECT_NEAR(ToGibibytes(small.weights + small.weight_padding), 13.45, 0.01);
  EXPECT_NEAR(ToGibibytes(small.kv_budget()) / kGptOss20b.pool, 1, 0.01);
  const MemoryFootprint large = WithMeasuredPeak(kGptOss120b);
  EXPECT_NEAR(ToGibibytes(large.weights + large.weight_padding), 64.55, 0.01);
  EXPECT_NEAR(
      ToGibibytes(large.weights + large.weight_padding) / kGptOss120b.weights,
      1, 0.005);
  EXPECT_NEAR(ToGibibytes(large.kv_budget()), kGptOss120b.pool, 0.2);
}

// 44.76 GiB are the text's 43.91 and the tower's; with those the pool is the
// measured one, to the block.
TEST_F(MeasuredMemory, OtherWeightsAreHeld) {
  MemoryFootprint memory = WithMeasuredPeak(kMistral);
  memory.other_weights = Bytes::Zero();
  EXPECT_NEAR(ToGibibytes(memory.weights), 43.91, 0.01);
  ModelGraphSpec spec = GraphOf(kMistral)->spec();
  spec.other_weight_bytes =
      static_cast<int64_t>((Gibibytes(44.76) - memory.weights).value());
  ToyHardware toy;
  toy.device.hbm.capacity.value = Gibibytes(79.18);
  toy.stack.memory = EngineMemory{.usable_fraction = kMistral.fraction,
                                  .framework = Gibibytes(0.14),
                                  .fixed_workspace = Gibibytes(2.12),
                                  .block_tokens = 16};
  const MemoryFootprint whole =
      EstimatePass(BuildTarget(TargetOn(BuildGraph(spec), toy.Build())),
                   DecodePass(1, 1))
          .memory;
  EXPECT_NEAR(ToGibibytes(whole.kv_budget()) / kMistral.pool, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(whole.kv_token_capacity), 184832, 16 * 4);
  EXPECT_EQ(whole.kv_token_capacity % 16, 0);
}

// Two constants, 38 bytes a logit and 46.8 MB, of which the second is fitted.
TEST_F(MeasuredMemory, DefaultWorkspaceIsTheMeasuredPeak) {
  for (const Start& start : kText) {
    SCOPED_TRACE(::testing::PrintToString(start));
    const MemoryFootprint memory = FootprintOn(start, Default(start.fraction));
    EXPECT_NEAR(ToGibibytes(memory.workspace) / start.activation_peak, 1,
                0.002);
    EXPECT_NEAR(ToGibibytes(memory.framework + memory.communication),
                start.non_framework, 0.011);
    EXPECT_NEAR(ToGibibytes(memory.kv_budget()), start.pool, 0.09);
  }
  for (const Start& start : {kGptOss20b, kGptOss120b}) {
    EXPECT_NEAR(ToGibibytes(FootprintOn(start, Default(0.9)).workspace), 7.38,
                0.01);
  }
}

// 18 layers hold all of 65,935 tokens, 18 a window of 128; 2 x 8 x 64 bytes a
// token and layer.
TEST_F(MeasuredMemory, GptOss120bKeepsAWindowInHalfOfItsLayers) {
  TargetSpec spec =
      TargetOn(BuildGraph(GptOss(36, 128)), ToyHardware().Build());
  spec.kv_cache = Format::kFp8E4m3;
  const MemoryFootprint memory =
      EstimatePass(BuildTarget(spec), DecodePass(1, 65935)).memory;
  EXPECT_EQ(memory.kv_cache.value(), 18 * 1024.0 * (65935 + 128));
  EXPECT_NEAR(ToGibibytes(memory.kv_cache), 1.1340, 0.00005);
}

}  // namespace
}  // namespace mansard::model
