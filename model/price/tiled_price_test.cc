// GEMMs on a stack with a tiled family: the parts of kernels/tiled_gemm.h, put
// together as every op's.

#include <cmath>

#include "gtest/gtest.h"
#include "model/kernels/tiled_gemm.h"
#include "model/price/price.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::ToyHardware;

TiledGemmFamily Family() {
  TiledGemmFamily family;
  family.facts.id = "gemm-tiled";
  family.facts.sigma = .1;
  family.facts.tier = Tier::kCalibrated;
  family.launch = Microseconds(1.5);
  family.wave = Microseconds(1);
  family.split_cost = Microseconds(2.5);
  family.block_latency = Microseconds(.1);
  family.peak_fraction = .9;
  family.droop = .2;
  family.droop_time = Microseconds(2000);
  family.hbm_fraction = .85;
  family.l2_feed = GigabytesPerSecond(15000);
  family.sm_hbm_feed = GigabytesPerSecond(11);
  family.sm_smem_feed = GigabytesPerSecond(220);
  family.k_block_bytes = 128;
  family.tiles = {{128, 256}, {256, 128}, {64, 64}};
  family.splits = {1, 2, 4};
  return family;
}

class TiledPriceTest : public ::testing::Test {
 protected:
  TiledPriceTest() {
    ToyHardware toy;
    toy.device.multiprocessor_count = Sourced<double>{100, {}};
    toy.stack.fine.plain_gemm.Bind(static_cast<size_t>(Format::kBf16),
                                   Family());
    profile_ = toy.Build();
  }
  HardwareView view() const {
    return {profile_->device(), profile_->fabrics()[0], profile_->stacks()[0]};
  }

  std::shared_ptr<const HardwareProfile> profile_;
};

TEST_F(TiledPriceTest, PartsAreTheFormulas) {
  for (const int64_t m : {1, 64, 300, 5000}) {
    const Op op = GemmOp({.m = m, .n = 3072, .k = 4096}, false);
    const OpTime time = Price(op, view());
    const TiledGemmTimes want =
        TimeTiledGemm(Family(),
                      {100, TeraflopsPerSecond(1000), GigabytesPerSecond(1000),
                       Bytes::Infinity()},
                      {.m = static_cast<double>(m), .n = 3072, .k = 4096});
    EXPECT_NEAR(time.estimate / want.time, 1, 1e-12) << m;
    EXPECT_EQ(time.busy[Resource::kLaunch], want.launch);
    EXPECT_NEAR(time.busy[Resource::kHbm] / want.hbm, 1, 1e-12);
    EXPECT_NEAR(
        time.busy[Resource::kSync] / (want.chain + want.waves + want.split), 1,
        1e-12);
    EXPECT_NEAR(time.traffic.hbm() / want.hbm_bytes, 1, 1e-12);
    EXPECT_EQ(time.tier, Tier::kCalibrated);
  }
}

TEST_F(TiledPriceTest, BoundsHoldAndAttributionSums) {
  for (const int64_t m : {1, 17, 512, 4096, 40000}) {
    for (const int64_t n : {32, 1000, 65536}) {
      for (const int64_t k : {16, 768, 30000}) {
        const OpTime time =
            Price(GemmOp({.m = m, .n = n, .k = k}, false), view());
        EXPECT_LE(time.floor, time.overlapped);
        EXPECT_LE(time.overlapped, time.estimate);
        EXPECT_LE(time.estimate, time.serial);
        EXPECT_LE(time.p10, time.estimate);
        Seconds sum;
        for (const Seconds part : time.attributed) sum += part;
        EXPECT_NEAR(sum / time.estimate, 1, 1e-12);
      }
    }
  }
}

TEST_F(TiledPriceTest, SumOfEstimatesIsBitForBit) {
  OpList ops;
  for (const int64_t m : {1, 100, 2000}) {
    ops.push_back(GemmOp({.m = m, .n = 6144, .k = 4096}, false));
  }
  Seconds sum;
  for (const OpTime& time : PriceAll(ops, view())) sum += time.estimate;
  EXPECT_EQ(SumOfEstimates(ops, view()), sum);
}

// Other formats, weight-only and grouped GEMMs keep their roofline family.
TEST_F(TiledPriceTest, ServesPlainGemmsOfItsFormatsAlone) {
  EXPECT_EQ(
      Price(GemmOp({.m = 8, .n = 512, .k = 512}, false), view()).family->id,
      "gemm-tiled");
  const Op grouped = GroupedGemmOp(
      {.rows = 8, .distinct_experts = 4, .experts = 8, .n = 512, .k = 512}, 8);
  EXPECT_NE(Price(grouped, view()).family->id, "gemm-tiled");
  const Op weight_only =
      GemmOp({.m = 8, .n = 512, .k = 512, .weights = Format::kInt4}, false);
  EXPECT_NE(Price(weight_only, view()).family->id, "gemm-tiled");
  const Op fp8 = GemmOp({.m = 8,
                         .n = 512,
                         .k = 512,
                         .input = Format::kFp8E4m3,
                         .weights = Format::kFp8E4m3,
                         .compute = Format::kFp8E4m3},
                        false);
  EXPECT_NE(Price(fp8, view()).family->id, "gemm-tiled");
}

}  // namespace
}  // namespace mansard::model
