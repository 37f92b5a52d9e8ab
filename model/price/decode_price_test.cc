// Attention over a cache on a stack with "split-kv" families: the parts of
// kernels/split_decode.h, put together as every op's.

#include <cmath>

#include "gtest/gtest.h"
#include "model/kernels/split_decode.h"
#include "model/price/price.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::ToyHardware;

SplitDecodeFamily Family(const char* id) {
  SplitDecodeFamily family{};
  family.facts.id = id;
  family.facts.sigma = .1;
  family.facts.tier = Tier::kCalibrated;
  family.launch = Microseconds(6);
  family.start = Microseconds(4);
  family.head_share = .4;
  family.window_start = Microseconds(2);
  family.block_latency = Microseconds(.2);
  family.combine = Microseconds(1.5);
  family.combine_part = Microseconds(.02);
  family.query = Seconds::Of(2e-13);
  family.peak_fraction = .6;
  family.hbm_fraction = .92;
  family.l2_feed = GigabytesPerSecond(5500);
  family.part_feed = GigabytesPerSecond(40);
  family.wide_feed = 1;
  family.occupancy = 1.3;
  family.block_tokens = 128;
  family.head_rows = 64;
  family.alone_launch = 1;
  family.alone_start = 1;
  family.warm_share = .5;
  family.splits = {1, 2, 4, 8, 16, 32, 64, 128};
  return family;
}

class DecodePriceTest : public ::testing::Test {
 protected:
  DecodePriceTest() {
    ToyHardware toy;
    toy.device.multiprocessor_count = Sourced<double>{100, {}};
    FineFamilies& fine = toy.stack.fine;
    fine.split_decode.Bind(static_cast<size_t>(Format::kBf16),
                           Family("decode-split"));
    fine.latent_decode.Bind(static_cast<size_t>(Format::kFp8E4m3),
                            Family("latent-split"));
    profile_ = toy.Build();
  }
  HardwareView view(bool warm = false) const {
    return {profile_->device(), profile_->fabrics()[0], profile_->stacks()[0],
            warm};
  }

  std::shared_ptr<const HardwareProfile> profile_;
};

RequestGroup Decode(int64_t requests, int64_t prior, int64_t tokens = 1) {
  return {Role::kDecode, requests, tokens, prior};
}

AttentionShape Grouped(const RequestGroup& group) {
  return {.group = group, .query_heads = 32, .kv_heads = 8, .head_size = 128};
}

LatentAttentionShape Latent(const RequestGroup& group) {
  return {.group = group,
          .query_heads = 128,
          .kv_lora_rank = 512,
          .nope_head_size = 128,
          .rope_head_size = 64,
          .value_head_size = 128,
          .kv_cache = Format::kFp8E4m3};
}

SplitDecodeMachine Machine() {
  return {100, TeraflopsPerSecond(1000), GigabytesPerSecond(1000),
          Bytes::Of(50e6)};
}

TEST_F(DecodePriceTest, PartsAreTheFormulas) {
  for (const int64_t requests : {1, 16, 300}) {
    for (const int64_t context : {2, 1000, 9000}) {
      const OpTime time =
          Price(AttentionOp(Grouped(Decode(requests, context - 1))), view());
      const double n = static_cast<double>(requests);
      SplitDecodeProblem problem;
      problem.sequences = n;
      problem.positions = static_cast<double>(context);
      problem.query_heads = 32;
      problem.kv_heads = 8;
      problem.position_bytes = Bytes::Of(512);
      problem.position_flops = Flops::Of(512);
      problem.activations = Bytes::Of(n * 32 * 256 * 2);
      problem.other_hbm = Bytes::Of(n * 8 * 512);  // The new positions.
      const SplitDecodeTimes want =
          TimeSplitDecode(Family(""), Machine(), problem);
      EXPECT_NEAR(time.busy[Resource::kTensor] / want.tensor, 1, 1e-12);
      EXPECT_NEAR(time.busy[Resource::kHbm] / want.hbm, 1, 1e-12);
      EXPECT_EQ(time.busy[Resource::kLaunch], want.launch);
      EXPECT_NEAR(time.busy[Resource::kL2] / (want.l2 + want.combine_traffic),
                  1, 1e-12);
      EXPECT_NEAR(
          time.busy[Resource::kSync] / (want.chain + want.combine + want.query),
          1, 1e-12);
      // Beside those, softmax: little, so that the time is nearly the same.
      EXPECT_NEAR(time.estimate / want.time, 1, .02);
      EXPECT_EQ(time.tier, Tier::kCalibrated);
    }
  }
}

TEST_F(DecodePriceTest, LatentVectorsAreOneHeadsKeysAndValues) {
  const OpTime time =
      Price(LatentAttentionOp(Latent(Decode(32, 4095))), view());
  SplitDecodeProblem problem;
  problem.sequences = 32;
  problem.positions = 4096;
  problem.query_heads = 128;
  problem.kv_heads = 1;
  problem.head_size = 576;
  problem.value_size = 512;
  problem.position_bytes = Bytes::Of(576);
  problem.position_flops = Flops::Of(2 * 1088);
  problem.activations = Bytes::Of(32 * 128 * 1088 * 2);
  problem.other_hbm = Bytes::Of(32 * 576);
  const SplitDecodeTimes want = TimeSplitDecode(Family(""), Machine(), problem);
  EXPECT_EQ(time.family->id, "latent-split");
  EXPECT_NEAR(time.busy[Resource::kHbm] / want.hbm, 1, 1e-12);
  EXPECT_NEAR(time.busy[Resource::kTensor] / want.tensor, 1, 1e-12);
  EXPECT_NEAR(
      time.busy[Resource::kSync] / (want.chain + want.combine + want.query), 1,
      1e-12);
  // An indexer leaves fewer positions to read.
  LatentAttentionShape sparse = Latent(Decode(32, 100000));
  sparse.top_k = 4096;
  const OpTime chosen = Price(LatentAttentionOp(sparse), view());
  EXPECT_NEAR(chosen.busy[Resource::kHbm] / want.hbm, 1, 1e-12);
}

TEST_F(DecodePriceTest, BytesAreTheOpsOwn) {
  for (const int64_t window : {0, 128, 5000}) {
    AttentionShape shape = Grouped(Decode(64, 4000));
    shape.window = window;
    const Op op = AttentionOp(shape);
    const OpTime time = Price(op, view());
    EXPECT_EQ(time.traffic.hbm_kv, op.work.kv_read + op.work.kv_write);
    EXPECT_EQ(time.family->id, "decode-split");
  }
}

TEST_F(DecodePriceTest, BoundsHoldAndAttributionSums) {
  for (const int64_t requests : {1, 17, 600}) {
    for (const int64_t prior : {0, 500, 60000}) {
      for (const int64_t tokens : {1, 4}) {
        for (const int64_t window : {0, 128}) {
          AttentionShape shape = Grouped(Decode(requests, prior, tokens));
          shape.window = window;
          for (const Op& op :
               {AttentionOp(shape), LatentAttentionOp(Latent(shape.group))}) {
            const OpTime time = Price(op, view());
            EXPECT_LE(time.floor, time.overlapped);
            EXPECT_LE(time.overlapped, time.estimate);
            EXPECT_LE(time.estimate, time.serial);
            Seconds sum;
            for (const Seconds part : time.attributed) sum += part;
            EXPECT_NEAR(sum / time.estimate, 1, 1e-12);
          }
        }
      }
    }
  }
}

TEST_F(DecodePriceTest, LongerContextsAndMoreRequestsAreNeverFaster) {
  Seconds by_requests;
  for (const int64_t requests : {1, 2, 3, 12, 13, 40, 200, 999}) {
    Seconds before;
    for (int64_t prior = 0; prior < 100000; prior += 1 + prior / 9) {
      const Seconds now =
          Price(AttentionOp(Grouped(Decode(requests, prior))), view()).estimate;
      EXPECT_GE(now, before) << requests << " " << prior;
      before = now;
    }
    EXPECT_GE(before, by_requests);
    by_requests = before;
  }
}

// Measurements that repeat themselves find what L2 held; servers do not.
TEST_F(DecodePriceTest, OnlyRepeatedMeasurementsAreWarm) {
  const Op op = AttentionOp(Grouped(Decode(1, 4095)));  // 17e6 B.
  EXPECT_LT(Price(op, view(true)).busy[Resource::kHbm],
            .01 * Price(op, view()).busy[Resource::kHbm]);
  EXPECT_LT(Price(op, view(true)).estimate, Price(op, view()).floor);
  const Op large = AttentionOp(Grouped(Decode(64, 4095)));
  EXPECT_EQ(Price(large, view(true)).estimate, Price(large, view()).estimate);
}

// Formats without a family, prompts, unfused and compressed attention.
TEST_F(DecodePriceTest, ServesDecodesOfItsFormatAlone) {
  AttentionShape shape = Grouped(Decode(4, 1000));
  const auto serves = [&](const Op& op) {
    return Price(op, view()).family->id == "decode-split";
  };
  EXPECT_TRUE(serves(AttentionOp(shape)));
  shape.kv_cache = Format::kFp8E4m3;
  EXPECT_FALSE(serves(AttentionOp(shape)));
  shape.kv_cache = Format::kBf16;
  // Scores that go through memory are no faster.
  const Seconds fused = Price(AttentionOp(shape), view()).estimate;
  shape.fused = false;
  EXPECT_TRUE(serves(AttentionOp(shape)));
  EXPECT_GE(Price(AttentionOp(shape), view()).estimate, fused);
  shape.fused = true;
  shape.group = {Role::kPrefill, 1, 100, 0};
  EXPECT_FALSE(serves(AttentionOp(shape)));
  LatentAttentionShape latent = Latent(Decode(4, 1000));
  latent.kv_cache = Format::kBf16;
  EXPECT_FALSE(serves(LatentAttentionOp(latent)));
}

}  // namespace
}  // namespace mansard::model
