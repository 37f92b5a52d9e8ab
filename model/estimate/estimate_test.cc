#include "model/estimate/estimate.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;
using ::testing::Contains;
using ::testing::HasSubstr;

TargetSpec ToySpec() {
  return TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build());
}

TEST(Target, FormatsDefaultToTheGraphs) {
  const Target target = BuildTarget(ToySpec());
  EXPECT_EQ(target.formats().precision, Precision{});
  EXPECT_EQ(target.formats().compute, Format::kBf16);
  EXPECT_EQ(target.formats().hidden, Format::kBf16);
}

TEST(Target, NarrowWeightsAloneRunAtTheActivationsRate) {
  TargetSpec spec = ToySpec();
  spec.weights = Format::kFp8E4m3;
  const Target target = BuildTarget(spec);
  EXPECT_EQ(target.formats().compute, Format::kBf16);  // Never a free 2x.
  EXPECT_THAT(target.assumptions(),
              Contains(HasSubstr("weight-only, GEMMs run at the bf16 rate")));
  EXPECT_THAT(target.assumptions(),
              Contains(HasSubstr("embedding, head, norms and biases stay")));
}

TEST(Target, NarrowActivationsNeedAUnit) {
  TargetSpec spec = ToySpec();
  spec.weights = spec.activations = Format::kFp8E4m3;
  EXPECT_EQ(BuildTarget(spec).formats().compute, Format::kFp8E4m3);
  EXPECT_EQ(BuildTarget(spec).formats().hidden, Format::kBf16);

  spec.weights = spec.activations = Format::kInt8;
  Violations violations;
  const absl::Status refused = Target::Create(spec, violations).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("no tensor unit for int8 activations"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("fp8-e4m3"));
  EXPECT_TRUE(violations.empty());
}

TEST(Target, NamesEveryBrokenRule) {
  TargetSpec spec = ToySpec();
  spec.kv_heads = 3;
  spec.parallelism.tensor = 3;
  Violations violations;
  EXPECT_EQ(Target::Create(spec, violations).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string message(violations.ToStatus().message());
  EXPECT_THAT(message,
              HasSubstr("kv_head_count: is 3; must divide the query heads, 4"));
  EXPECT_THAT(message, HasSubstr("parallelism.tensor_size: is 3"));
}

TEST(Target, NeedsACollectiveFamilyForItsTier) {
  ToyHardware toy;
  toy.stack.collectives = {};
  Violations violations;
  const absl::Status refused =
      Target::Create(TargetOn(BuildGraph(TinyGraph()), toy.Build(), 2),
                     violations)
          .status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("no collective family for nvlink"));
}

TEST(Target, SaysWhatTheFloorLeavesOut) {
  EXPECT_THAT(BuildTarget(ToySpec()).assumptions(),
              Contains(HasSubstr("the floor leaves L2 out")));
  ToyHardware toy;
  toy.device.l2->bandwidth = Sourced<BytesPerSecond>{GigabytesPerSecond(5000),
                                                     toy.stack.host.provenance};
  EXPECT_THAT(
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), toy.Build())).assumptions(),
      ::testing::Not(Contains(HasSubstr("L2"))));
}

}  // namespace
}  // namespace mansard::model
