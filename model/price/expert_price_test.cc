// Which families price a layer of experts.

#include "gtest/gtest.h"
#include "model/price/price.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

ExpertGemmFamily Gemm() {
  ExpertGemmFamily family;
  family.facts.id = "experts-bf16";
  family.facts.sigma = .1;
  family.launch = Microseconds(5);
  family.peak_fraction = 1;
  family.hbm_fraction = 1;
  family.l2_feed = BytesPerSecond::Of(1e14);
  family.sm_hbm_feed = BytesPerSecond::Of(1e13);
  family.sm_smem_feed = BytesPerSecond::Of(1e13);
  family.k_block_bytes = 128;
  family.warm_share = .5;
  family.tiles = {{64, 128}};
  return family;
}

Op GroupedGemm(Format weights) {
  return GroupedGemmOp({.rows = 8,
                        .distinct_experts = 4,
                        .experts = 8,
                        .n = 1024,
                        .k = 1024,
                        .weights = weights},
                       8);
}

class ExpertPriceTest : public ::testing::Test {
 protected:
  ExpertPriceTest() {
    mansard::testing::ToyHardware toy;
    toy.stack.fine.experts.Bind(static_cast<size_t>(Format::kBf16), Gemm());
    ElementwiseFamily elementwise = toy.stack.elementwise;
    elementwise.facts.id = "elementwise-of-experts";
    toy.stack.fine.expert_elementwise.Bind(static_cast<size_t>(Format::kBf16),
                                           elementwise);
    profile_ = toy.Build();
  }
  OpTime PriceOf(const Op& op, bool warm = false) const {
    return Price(op, {profile_->device(), profile_->fabrics().front(),
                      profile_->stacks().front(), warm});
  }
  std::string FamilyOf(const Op& op) const { return PriceOf(op).family->id; }

  std::shared_ptr<const HardwareProfile> profile_;
};

TEST_F(ExpertPriceTest, FamiliesServeTheFormatOfTheWeights) {
  EXPECT_EQ(FamilyOf(GroupedGemm(Format::kBf16)), "experts-bf16");
  EXPECT_NE(FamilyOf(GroupedGemm(Format::kInt8)), "experts-bf16");
  ElementwiseShape shape{8, 1024};
  EXPECT_NE(FamilyOf(ActivationOp(shape, true)), "elementwise-of-experts");
  shape.experts = Format::kBf16;
  EXPECT_EQ(FamilyOf(ActivationOp(shape, true)), "elementwise-of-experts");
  EXPECT_EQ(FamilyOf(CombineOp(shape, 2)), "elementwise-of-experts");
  shape.experts = Format::kInt8;
  EXPECT_NE(FamilyOf(ActivationOp(shape, true)), "elementwise-of-experts");
}

TEST(WidenedExpertsTest, NarrowWeightsWithWideInputs) {
  mansard::testing::ToyHardware toy;
  const size_t mxfp4 = static_cast<size_t>(Format::kMxfp4);
  ExpertGemmFamily family = Gemm();
  family.facts.id = "narrow";
  toy.stack.fine.experts.Bind(mxfp4, family);
  const auto family_of = [&](Format input) {
    const auto profile = toy.Build();
    const Op op = GroupedGemmOp({.rows = 8,
                                 .distinct_experts = 4,
                                 .experts = 8,
                                 .n = 1024,
                                 .k = 1024,
                                 .input = input,
                                 .weights = Format::kMxfp4},
                                8);
    return Price(op, {profile->device(), profile->fabrics().front(),
                      profile->stacks().front()})
        .family->id;
  };
  EXPECT_EQ(family_of(Format::kBf16), "narrow");
  family.facts.id = "widened";
  toy.stack.fine.widened_experts.Bind(mxfp4, family);
  EXPECT_EQ(family_of(Format::kBf16), "widened");
  EXPECT_EQ(family_of(Format::kMxfp8), "narrow");
}

// Half of 50e6 bytes of L2 holds the 8.4e6 bytes of weights.
TEST_F(ExpertPriceTest, WarmWeightsLeaveNoTraffic) {
  const Op op = GroupedGemm(Format::kBf16);
  const OpTime cold = PriceOf(op);
  EXPECT_EQ(cold.traffic.hbm(), op.work.weights + op.work.activations());
  const OpTime warm = PriceOf(op, true);
  EXPECT_EQ(warm.traffic.hbm(), Bytes::Zero());
  EXPECT_LT(warm.estimate, cold.estimate);
  EXPECT_GE(cold.estimate, cold.floor);
}

}  // namespace
}  // namespace mansard::model
