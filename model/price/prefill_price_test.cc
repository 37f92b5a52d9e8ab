// Attention of prompts on a stack with "tiled-prefill" families: the parts of
// kernels/tiled_prefill.h, put together as every op's.

#include <optional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/kernels/tiled_prefill.h"
#include "model/price/price.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::model {
namespace {

using mansard::testing::ToyHardware;

TiledPrefillFamily Family(const char* id) {
  TiledPrefillFamily family{};
  family.facts.id = id;
  family.facts.sigma = .1;
  family.facts.tier = Tier::kCalibrated;
  family.launch = Microseconds(9);
  family.start = Microseconds(1);
  family.peak_fractions = {{64, .5}, {128, .7}, {192, .8}};
  family.solo = .3;
  family.window_blocks = .2;
  family.hbm_fraction = .6;
  family.append_passes = 1.5;
  family.append_token = Microseconds(1e-3);
  family.append_elements = 512;
  family.droop = .1;
  family.droop_time = Microseconds(8000);
  family.packs_heads = 1;
  family.splits_positions = 1;
  family.decodes_as_prompts = 1;
  family.head_tiles = {{128, 128, 128, 128}, {256, 128, 64, 64}};
  return family;
}

class PrefillPriceTest : public ::testing::Test {
 protected:
  PrefillPriceTest() {
    ToyHardware toy;
    toy.device.multiprocessor_count = Sourced<double>{100, {}};
    // Their parts are then the kernel's alone.
    toy.device.special_function_rate = std::nullopt;
    toy.device.vector_rates = {};
    FineFamilies& fine = toy.stack.fine;
    fine.tiled_prefill.Bind(static_cast<size_t>(Format::kBf16),
                            Family("prefill-tiled"));
    fine.latent_prefill.Bind(static_cast<size_t>(Format::kBf16),
                             Family("latent-tiled"));
    profile_ = toy.Build();
  }
  HardwareView view() const {
    return {profile_->device(), profile_->fabrics()[0], profile_->stacks()[0]};
  }
  static PrefillMachine Machine() {
    return {100, TeraflopsPerSecond(1000), GigabytesPerSecond(1000)};
  }
  static RequestGroup Prompts(int64_t requests, int64_t tokens,
                              int64_t prior = 0) {
    return {Role::kPrefill, requests, tokens, prior};
  }

  std::shared_ptr<const HardwareProfile> profile_;
};

TEST_F(PrefillPriceTest, PartsAreTheFormulas) {
  const AttentionShape shape{.group = Prompts(2, 3000, 500),
                             .query_heads = 32,
                             .kv_heads = 8,
                             .head_size = 128};
  const OpTime time = Price(AttentionOp(shape), view());
  // Queries and outputs of 2 * 3000 tokens, 500 cached positions of each; new
  // keys and values are read and written.
  const double kv = 2 * 8 * 128 * 2;
  const TiledPrefillTimes want =
      TimeTiledPrefill(Family(""), Machine(),
                       {.sequences = 2,
                        .new_tokens = 3000,
                        .prior_tokens = 500,
                        .query_heads = 32,
                        .kv_heads = 8,
                        .moved = Bytes::Of(6000 * 32 * 128 * 2 * 2 + 1000 * kv),
                        .appended = Bytes::Of(2 * 6000 * kv),
                        .appended_tokens = 6000,
                        .appended_elements = 1024});
  EXPECT_NEAR(time.estimate / want.time, 1, 1e-12);
  EXPECT_NEAR(time.busy[Resource::kHbm] / want.hbm, 1, 1e-12);
  EXPECT_NEAR(time.busy[Resource::kTensor] / (want.tensor + want.droop), 1,
              1e-12);
  EXPECT_EQ(time.busy[Resource::kLaunch], want.launch);
  EXPECT_EQ(time.family->id, "prefill-tiled");
  EXPECT_FALSE(time.extrapolated);
}

TEST_F(PrefillPriceTest, ExpandedLatentVectorsHaveHeadsOfTheirOwn) {
  const LatentAttentionShape shape{.group = Prompts(1, 1000, 100),
                                   .query_heads = 16,
                                   .kv_lora_rank = 512,
                                   .nope_head_size = 128,
                                   .rope_head_size = 64,
                                   .value_head_size = 128};
  const Op op = LatentAttentionOp(shape);
  const OpTime time = Price(op, view());
  const TiledPrefillTimes want =
      TimeTiledPrefill(Family(""), Machine(),
                       {.sequences = 1,
                        .new_tokens = 1000,
                        .prior_tokens = 100,
                        .query_heads = 16,
                        .kv_heads = 16,
                        .key_size = 192,
                        .value_size = 128,
                        .moved = op.work.activations() + op.work.kv_read,
                        .appended = Bytes::Of(1000 * 576 * 2),
                        .appended_tokens = 1000,
                        .appended_elements = 576});
  EXPECT_NEAR(time.estimate / want.time, 1, 1e-12);
  EXPECT_EQ(time.family->id, "latent-tiled");
}

TEST_F(PrefillPriceTest, BoundsHoldAndAttributionSums) {
  for (const int64_t tokens : {1, 100, 3000, 100000}) {
    for (const int64_t prior : {0, 5000}) {
      for (const int64_t window : {0, 128}) {
        for (const bool causal : {true, false}) {
          const OpTime time =
              Price(AttentionOp({.group = Prompts(3, tokens, prior),
                                 .query_heads = 40,
                                 .kv_heads = 8,
                                 .head_size = 64,
                                 .window = window,
                                 .causal = causal}),
                    view());
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

// Unfused scores, absorbed and compressed attention and other caches keep the
// general family.
// Where the stack has a family for narrow arithmetic, it is fitted on that.
TEST(NarrowPrefillTest, ServesNarrowArithmeticAlone) {
  ToyHardware toy;
  toy.device.multiprocessor_count = Sourced<double>{100, {}};
  const size_t fp8 = static_cast<size_t>(Format::kFp8E4m3);
  toy.stack.fine.tiled_prefill.Bind(fp8, Family("wide"));
  AttentionShape shape{.group = {Role::kPrefill, 1, 600, 0},
                       .query_heads = 8,
                       .kv_heads = 8,
                       .head_size = 128,
                       .kv_cache = Format::kFp8E4m3};
  const auto price = [&](Format input) {
    shape.input = input;
    const auto profile = toy.Build();
    const OpTime time =
        Price(AttentionOp(shape),
              {profile->device(), profile->fabrics()[0], profile->stacks()[0]});
    return absl::StrCat(time.family->id, time.extrapolated ? " beyond" : "");
  };
  EXPECT_EQ(price(Format::kBf16), "wide");
  EXPECT_EQ(price(Format::kFp8E4m3), "wide beyond");
  toy.stack.fine.narrow_prefill.Bind(fp8, Family("narrow"));
  EXPECT_EQ(price(Format::kBf16), "wide");
  EXPECT_EQ(price(Format::kFp8E4m3), "narrow");
}

TEST_F(PrefillPriceTest, ServesFusedPromptsOfItsCacheAlone) {
  const AttentionShape shape{.group = Prompts(1, 600),
                             .query_heads = 8,
                             .kv_heads = 8,
                             .head_size = 128};
  const auto family = [&](const Op& op) {
    return Price(op, view()).family->id;
  };
  EXPECT_EQ(family(AttentionOp(shape)), "prefill-tiled");
  AttentionShape other = shape;
  other.fused = false;
  EXPECT_NE(family(AttentionOp(other)), "prefill-tiled");
  other = shape;
  other.kv_cache = Format::kFp8E4m3;
  EXPECT_NE(family(AttentionOp(other)), "prefill-tiled");
  other = shape;
  other.chunk = 256;
  EXPECT_EQ(family(AttentionOp(other)), "prefill-tiled");
  const Op absorbed = LatentAttentionOp({.group = Prompts(1, 600),
                                         .query_heads = 8,
                                         .kv_lora_rank = 512,
                                         .nope_head_size = 128,
                                         .rope_head_size = 64,
                                         .value_head_size = 128,
                                         .top_k = 64});
  EXPECT_NE(family(absorbed), "latent-tiled");
  // Past the last fraction that is listed.
  other = shape;
  other.head_size = 256;
  EXPECT_TRUE(Price(AttentionOp(other), view()).extrapolated);
}

// In a pass with prompts a decode is so many tiles of their kernel: no launch.
TEST_F(PrefillPriceTest, DecodesMayBeTilesOfThePromptsKernel) {
  AttentionShape decode{.group = {Role::kDecode, 16, 1, 4095},
                        .query_heads = 32,
                        .kv_heads = 8,
                        .head_size = 128};
  EXPECT_NE(Price(AttentionOp(decode), view()).family->id, "prefill-tiled");
  decode.with_prompts = true;
  const OpTime time = Price(AttentionOp(decode), view());
  EXPECT_EQ(time.family->id, "prefill-tiled");
  EXPECT_EQ(time.busy[Resource::kLaunch], Seconds::Zero());
  EXPECT_GE(time.estimate, time.floor);
}

}  // namespace
}  // namespace mansard::model
