// The formats that the GEMMs of a graph run in, by class and device.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/estimate/estimate.h"
#include "tests/toy/op_sums.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::Count;
using mansard::testing::Find;
using mansard::testing::TargetOn;
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Experts in 4 bits, attention in 8, everything else in 16.
ModelGraphSpec Mixed() {
  ModelGraphSpec spec = TinyMoeGraph();
  for (LayerKind& kind : spec.layer_kinds) {
    kind.formats.push_back(
        {LinearClass::kAttentionInput, Format::kFp8E4m3, Format::kFp8E4m3});
    if (HasLinear(kind, LinearClass::kExperts)) {
      kind.formats.push_back(
          {LinearClass::kExperts, Format::kMxfp4, Format::kBf16});
    }
  }
  return spec;
}

TargetSpec MixedSpec() {
  return TargetOn(BuildGraph(Mixed()), ToyHardware().Build());
}

std::shared_ptr<const HardwareProfile> WithoutFp8() {
  ToyHardware toy;
  toy.device.tensor_rates[static_cast<size_t>(Format::kFp8E4m3)].reset();
  return toy.Build();
}

const GroupedGemmShape& ExpertsOf(const OpList& ops) {
  return std::get<GroupedGemmShape>(Find(ops, Part::kExpertUp).shape);
}
const GemmShape& QueriesOf(const OpList& ops) {
  return std::get<GemmShape>(Find(ops, Part::kQkvProj).shape);
}
const GemmShape& OutputOf(const OpList& ops) {
  return std::get<GemmShape>(Find(ops, Part::kOutputProj).shape);
}

OpList OpsOf(const TargetSpec& spec) {
  return EstimatePass(BuildTarget(spec), BuildPass({{Role::kDecode, 4, 1, 10}}))
      .ops;
}

TEST(GraphFormats, EachClassRunsInItsOwn) {
  const OpList ops = OpsOf(MixedSpec());
  EXPECT_EQ(QueriesOf(ops).weights, Format::kFp8E4m3);
  EXPECT_EQ(QueriesOf(ops).input, Format::kFp8E4m3);
  EXPECT_EQ(QueriesOf(ops).compute, Format::kFp8E4m3);
  EXPECT_EQ(OutputOf(ops).weights, Format::kBf16);
  EXPECT_EQ(OutputOf(ops).compute, Format::kBf16);
  EXPECT_EQ(ExpertsOf(ops).weights, Format::kMxfp4);
  EXPECT_EQ(ExpertsOf(ops).input, Format::kBf16);
  EXPECT_EQ(ExpertsOf(ops).compute, Format::kBf16);
  // Only where inputs are narrow.
  EXPECT_EQ(Count(ops, Part::kAttentionQuantize), Count(ops, Part::kQkvProj));
  EXPECT_EQ(Count(ops, Part::kOutputQuantize), 0);
  EXPECT_EQ(Count(ops, Part::kFeedForwardQuantize), 0);

  const Target target = BuildTarget(MixedSpec());
  EXPECT_THAT(target.assumptions(),
              Contains("mxfp4 weights with bf16 activations: weight-only, "
                       "GEMMs run at the bf16 rate; each weight is widened "
                       "once (experts)"));
  EXPECT_THAT(target.assumptions(),
              Contains(HasSubstr("attention_input with fp8-e4m3 weights")));
}

// Marlin on an A100: 1-byte weights at the 16-bit rate, and it says so.
TEST(GraphFormats, NativeActivationsWithoutAUnitStayWide) {
  TargetSpec spec = TargetOn(BuildGraph(Mixed()), WithoutFp8());
  const OpList ops = OpsOf(spec);
  EXPECT_EQ(QueriesOf(ops).weights, Format::kFp8E4m3);
  EXPECT_EQ(QueriesOf(ops).input, Format::kBf16);
  EXPECT_EQ(QueriesOf(ops).compute, Format::kBf16);
  EXPECT_EQ(Count(ops, Part::kAttentionQuantize), 0);
  EXPECT_THAT(BuildTarget(spec).assumptions(),
              Contains(HasSubstr("the checkpoint's fp8-e4m3 activations "
                                 "(attention_input) have no unit")));
  // What a caller asks for is no default.
  spec.linears = {
      {LinearClass::kAttentionInput, std::nullopt, Format::kFp8E4m3}};
  Violations violations;
  const absl::Status refused = Target::Create(spec, violations).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("no tensor unit for fp8-e4m3 activations"));
}

// Integer inputs have no weight-only kernels.
TEST(GraphFormats, IntegerActivationsNeedTheirUnit) {
  ModelGraphSpec graph = TinyMoeGraph();
  graph.native_precision.weights = Format::kInt8;
  graph.native_precision.activations = Format::kInt8;
  Violations violations;
  const absl::Status refused =
      Target::Create(TargetOn(BuildGraph(graph), ToyHardware().Build()),
                     violations)
          .status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("tensor formats of"));
}

TEST(GraphFormats, AChoiceReachesWhatIsQuantised) {
  TargetSpec spec = MixedSpec();
  spec.weights = Format::kInt4;
  const OpList ops = OpsOf(spec);
  EXPECT_EQ(ExpertsOf(ops).weights, Format::kInt4);
  EXPECT_EQ(QueriesOf(ops).weights, Format::kInt4);
  EXPECT_EQ(OutputOf(ops).weights, Format::kBf16);

  // A 16-bit checkpoint: all layers, not what is around them.
  spec = TargetOn(BuildGraph(TinyMoeGraph()), ToyHardware().Build());
  spec.weights = Format::kInt4;
  const OpList all = OpsOf(spec);
  EXPECT_EQ(ExpertsOf(all).weights, Format::kInt4);
  EXPECT_EQ(OutputOf(all).weights, Format::kInt4);
  EXPECT_EQ(std::get<GemmShape>(Find(all, Part::kRouter).shape).weights,
            Format::kBf16);
  EXPECT_EQ(std::get<GemmShape>(Find(all, Part::kHead).shape).weights,
            Format::kBf16);

  // Everything wide again.
  spec = MixedSpec();
  spec.weights = spec.activations = Format::kBf16;
  const Target wide = BuildTarget(spec);
  EXPECT_THAT(wide.assumptions(), Not(Contains(HasSubstr("weight-only"))));
  EXPECT_EQ(QueriesOf(OpsOf(spec)).weights, Format::kBf16);
}

TEST(GraphFormats, ClassesAreChosenOverTheRest) {
  TargetSpec spec = MixedSpec();
  spec.weights = Format::kFp8E4m3;
  spec.linears = {{LinearClass::kExperts, Format::kNvfp4, std::nullopt},
                  {LinearClass::kHead, Format::kFp8E4m3, Format::kFp8E4m3},
                  {LinearClass::kRouter, Format::kFp8E4m3, Format::kFp8E4m3}};
  const OpList ops = OpsOf(spec);
  EXPECT_EQ(ExpertsOf(ops).weights, Format::kNvfp4);
  EXPECT_EQ(QueriesOf(ops).weights, Format::kFp8E4m3);
  EXPECT_EQ(std::get<GemmShape>(Find(ops, Part::kHead).shape).compute,
            Format::kFp8E4m3);
  EXPECT_EQ(Count(ops, Part::kHeadQuantize), 1);
  EXPECT_EQ(Count(ops, Part::kRouterQuantize), Count(ops, Part::kRouter));
}

}  // namespace
}  // namespace mansard::model
