#include "model/estimate/weight_class.h"

#include <gtest/gtest.h>

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
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;

TargetSpec InBf16(std::shared_ptr<const ModelGraph> graph, int tensor = 1) {
  TargetSpec spec = TargetOn(std::move(graph), ToyHardware().Build(), tensor);
  spec.weights = spec.activations = Format::kBf16;
  return spec;
}

WeightBytesByClass WeightsOf(const TargetSpec& spec) {
  return EstimatePass(BuildTarget(spec), DecodePass(1, 10))
      .memory.weights_by_class;
}

// Ops and the graph's own count agree by class: two bytes each. Scales of
// layers are held by their last op, whatever its class; a tied table is the
// head's.
TEST(WeightClass, AgreesWithTheGraphsParameters) {
  const auto shipped = LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  int compared = 0;
  for (const auto& [id, graph] : shipped->graphs) {
    if (AttendsToEncoder(*graph)) continue;
    if (graph->ParameterCount(TensorClass::kScale) > 0) continue;
    // Tables and norms stay in the checkpoint's 32 bits.
    if (graph->spec().native_precision.weights == Format::kFp32) continue;
    // Mixing weights of streams are fp32; pools hold their entries' norms.
    if (graph->spec().residual_streams > 1) continue;
    SCOPED_TRACE(id);
    ++compared;
    const WeightBytesByClass weights = WeightsOf(InBf16(graph));
    for (size_t i = 0; i < kTensorClassCount; ++i) {
      const auto tensor_class = static_cast<TensorClass>(i);
      const bool table = tensor_class == TensorClass::kEmbedding ||
                         tensor_class == TensorClass::kHead;
      if (table && graph->spec().tied_embeddings) continue;
      EXPECT_EQ(weights[tensor_class].value(),
                2.0 * static_cast<double>(graph->ParameterCount(tensor_class)))
          << TensorClassName(tensor_class);
    }
    EXPECT_EQ(weights.Total().value(),
              2.0 * static_cast<double>(graph->ParameterCount()));
  }
  EXPECT_GT(compared, 60);
}

// Four experts of 3 x 16 x 8, shared ones of 3 x 16 x 12, a router of 16 x 4.
TEST(WeightClass, OfExpertsOnARank) {
  for (int tensor : {1, 2}) {
    const WeightBytesByClass weights =
        WeightsOf(InBf16(BuildGraph(TinyMoeGraph()), tensor));
    EXPECT_EQ(weights[TensorClass::kExperts].value(),
              2 * 2 * 4 * 3 * 16 * 8.0 / tensor);
    EXPECT_EQ(weights[TensorClass::kSharedExperts].value(),
              2 * 2 * 3 * 16 * 12.0 / tensor);
    EXPECT_EQ(weights[TensorClass::kRouter].value(), 2 * 2 * 16 * 4.0);
    EXPECT_EQ(weights[TensorClass::kEmbedding].value(), 2 * 40 * 16.0 / tensor);
  }
}

// Width 8, padded to 12: half as much again of both matrices; only in mxfp4.
TEST(WeightClass, PaddingIsOfMxfp4Experts) {
  ToyHardware toy;
  toy.stack.memory = EngineMemory{.mxfp4_width_multiple = 12};
  TargetSpec spec = TargetOn(BuildGraph(TinyMoeGraph()), toy.Build());
  const auto padding = [&] {
    return EstimatePass(BuildTarget(spec), DecodePass(1, 10)).memory;
  };
  EXPECT_EQ(padding().weight_padding, Bytes::Zero());
  spec.weights = Format::kMxfp4;
  const MemoryFootprint memory = padding();
  EXPECT_GT(memory.weight_padding, Bytes::Zero());
  EXPECT_NEAR(
      memory.weight_padding / memory.weights_by_class[TensorClass::kExperts],
      0.5, 1e-12);
}

}  // namespace
}  // namespace mansard::model
