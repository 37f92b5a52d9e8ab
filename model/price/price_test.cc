// Times worked out by hand on hardware with round numbers.

#include "model/price/price.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/price/extrapolation.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::ToyHardware;

class PriceTest : public ::testing::Test {
 protected:
  OpTime PriceOn(const Op& op, const ToyHardware& toy) {
    profile_ = toy.Build();
    return Price(op, {profile_->device(), profile_->fabrics()[0],
                      profile_->stacks()[0]});
  }
  OpTime PriceToy(const Op& op) { return PriceOn(op, ToyHardware()); }

  std::shared_ptr<const HardwareProfile> profile_;
};

double Us(Seconds t) { return ToMicroseconds(t); }

TEST_F(PriceTest, MemoryBoundGemm) {
  // 1000 x 1e6 bf16 weights: 2e9 B at 1e12 B/s is 2000 us; 2e9 FLOP take 2 us;
  // the operands cross L2 once, the input 1000 / 128 times.
  const Op op = GemmOp({.m = 1, .n = 1000, .k = 1'000'000}, false);
  const OpTime time = PriceToy(op);
  EXPECT_NEAR(Us(time.floor), 2000, 1e-9);
  EXPECT_NEAR(Us(time.busy[Resource::kHbm]), 2000, 1e-9);
  EXPECT_NEAR(Us(time.busy[Resource::kTensor]), 2, 1e-9);
  const double l2 = (2e9 + 2e6 * 1000 / 128 + 2000) / 1e13 * 1e6;
  EXPECT_NEAR(Us(time.busy[Resource::kL2]), l2, 1e-9);
  EXPECT_NEAR(Us(time.overlapped), 3 + 2000, 1e-9);
  EXPECT_NEAR(Us(time.serial), 3 + 2000 + 2 + l2, 1e-9);
  const double norm =
      std::pow(std::pow(2000.0, 4) + std::pow(2.0, 4) + std::pow(l2, 4), 0.25);
  EXPECT_NEAR(Us(time.estimate), 3 + norm, 1e-9);
  EXPECT_EQ(time.limiting, Resource::kHbm);
  EXPECT_NEAR(Us(time.attributed[Resource::kLaunch]), 1, 1e-12);
  EXPECT_NEAR(Us(time.attributed[Resource::kSync]), 2, 1e-12);
  EXPECT_FALSE(time.raised_to_floor);
}

TEST_F(PriceTest, CopiedWeightsAreHiddenByNothing) {
  // As above; of the weights' 2000 us a quarter comes first, the other 1500
  // overlap with the 2 us of the products.
  const Op op = GemmOp({.m = 1, .n = 1000, .k = 1'000'000}, false);
  ToyHardware toy;
  toy.stack.gemm[0].l2_feed = BytesPerSecond::Of(1e18);
  toy.stack.gemm[0].copied_weights = 0.25;
  const OpTime time = PriceOn(op, toy);
  const double norm = std::pow(std::pow(1500.0, 4) + std::pow(2.0, 4), 0.25);
  EXPECT_NEAR(Us(time.estimate), 3 + 500 + norm, 1e-6);
  EXPECT_NEAR(Us(time.busy[Resource::kHbm]), 2000, 1e-9);
  EXPECT_EQ(time.limiting, Resource::kHbm);
}

TEST_F(PriceTest, RowsThatAreComputedTogetherCostTheSame) {
  // 2 x 5 x 1000 x 1e6 FLOP at 1e15 take 10 us, as 8 rows of 4 at once 16 us.
  ToyHardware toy;
  toy.stack.gemm[0].whole_rows = 4;
  const Op op = GemmOp({.m = 5, .n = 1000, .k = 1'000'000}, false);
  EXPECT_NEAR(Us(PriceOn(op, toy).busy[Resource::kTensor]), 16, 1e-9);
  EXPECT_NEAR(Us(PriceToy(op).busy[Resource::kTensor]), 10, 1e-9);
}

TEST_F(PriceTest, ComputeBoundGemm) {
  // 8192^3: 1.1e12 FLOP at 1e15 is 1099.5 us; operands 402 MB at 1e12 402.7 us.
  const Op op = GemmOp({.m = 8192, .n = 8192, .k = 8192}, false);
  ToyHardware toy;
  toy.stack.gemm[0].l2_feed = GigabytesPerSecond(1e5);
  const OpTime time = PriceOn(op, toy);
  EXPECT_NEAR(Us(time.floor), 2 * std::pow(8192.0, 3) / 1e15 * 1e6, 1e-6);
  EXPECT_NEAR(Us(time.busy[Resource::kHbm]), 3 * 8192.0 * 8192 * 2 / 1e12 * 1e6,
              1e-6);
  EXPECT_EQ(time.limiting, Resource::kTensor);
}

// Times so small that their reciprocal is no number. The largest stands alone.
TEST_F(PriceTest, VanishingTimesStayNumbers) {
  ToyHardware toy;
  toy.stack.elementwise.launch = Seconds::Zero();
  Op add = AddOp({1, 1, Format::kInt4});
  add.work.vector *= 1e-300;
  add.work.activations_in *= 1e-300;
  add.work.activations_out *= 1e-300;
  const OpTime time = PriceOn(add, toy);
  EXPECT_GT(time.busy[Resource::kVector], Seconds::Zero());
  EXPECT_GT(time.busy[Resource::kL2], Seconds::Zero());
  EXPECT_EQ(time.estimate, time.overlapped);
  EXPECT_GT(time.serial, time.estimate);
  for (const Seconds part : time.attributed) EXPECT_EQ(part, Seconds::Zero());
}

TEST_F(PriceTest, SmallActivationsStayInL2) {
  // 40e6 B of activations fit into 50e6 B of L2, 60e6 B do not.
  const auto norm = [](int64_t rows) {
    return NormOp({rows, 1000, Format::kBf16}, false, Format::kBf16);
  };
  const OpTime small = PriceToy(norm(10'000));
  EXPECT_EQ(small.traffic.hbm_activations, Bytes::Zero());
  EXPECT_NEAR(Us(small.busy[Resource::kL2]), 4, 1e-9);
  EXPECT_NEAR(Us(small.floor), 2000 / 1e12 * 1e6, 1e-12);  // Weights alone.
  const OpTime large = PriceToy(norm(15'000));
  EXPECT_EQ(large.traffic.hbm_activations.value(), 60e6);
  EXPECT_NEAR(Us(large.floor), 60.002, 1e-9);
}

TEST_F(PriceTest, KnownL2BandwidthIsInTheFloor) {
  ToyHardware toy;
  toy.device.l2->bandwidth = Sourced<BytesPerSecond>{GigabytesPerSecond(5000),
                                                     toy.stack.host.provenance};
  const Op op = NormOp({10'000, 1000, Format::kBf16}, false, Format::kBf16);
  EXPECT_NEAR(Us(PriceOn(op, toy).floor), 40e6 / 5e12 * 1e6, 1e-9);
}

TEST_F(PriceTest, RaisedToTheFloorAndSaysSo) {
  ToyHardware toy;
  toy.stack.elementwise.launch = Seconds::Zero();
  toy.stack.elementwise.l2_feed = GigabytesPerSecond(1e6);
  toy.device.l2->bandwidth = Sourced<BytesPerSecond>{GigabytesPerSecond(5000),
                                                     toy.stack.host.provenance};
  const OpTime time =
      PriceOn(NormOp({10'000, 1000, Format::kBf16}, false, Format::kBf16), toy);
  EXPECT_TRUE(time.raised_to_floor);
  EXPECT_NEAR(Us(time.estimate), 8, 1e-9);
  EXPECT_EQ(time.overlapped, time.floor);
  EXPECT_EQ(time.p10, time.floor);
  Seconds sum;
  for (Seconds part : time.attributed) sum += part;
  EXPECT_NEAR(Us(sum), 8, 1e-9);
}

TEST_F(PriceTest, DecodeAttention) {
  // One sequence of 100,000 tokens, 8 KV heads of 128: 409.6 MB at 1e12.
  const Op op = AttentionOp({.group = {Role::kDecode, 1, 1, 99'999},
                             .query_heads = 32,
                             .kv_heads = 8,
                             .head_size = 128});
  const OpTime time = PriceToy(op);
  EXPECT_NEAR(Us(time.busy[Resource::kHbm]), 409.6 + 0.004096, 1e-6);
  EXPECT_NEAR(Us(time.busy[Resource::kTensor]), 4.0 * 32 * 128e5 / 1e15 * 1e6,
              1e-6);
  EXPECT_NEAR(Us(time.busy[Resource::kSfu]), 32e5 / 1e13 * 1e6, 1e-6);
  EXPECT_NEAR(Us(time.attributed[Resource::kSync]), 3, 1e-9);
  EXPECT_EQ(time.limiting, Resource::kHbm);
}

// Either side of both ends of every size, by hand.
TEST_F(PriceTest, SizesOutsideTheFittedOnesAreExtrapolated) {
  ToyHardware toy;
  FittedRanges& ranges = toy.stack.gemm[0].facts.fitted_ranges;
  ranges.Set(SizeName::kM, {16, 4096});
  ranges.Set(SizeName::kK, {256, 8192});
  struct Case {
    GemmShape shape;
    bool extrapolated;
  };
  for (const Case& test : {Case{{.m = 16, .n = 7, .k = 256}, false},
                           Case{{.m = 4096, .n = 1, .k = 8192}, false},
                           Case{{.m = 15, .n = 7, .k = 256}, true},
                           Case{{.m = 4097, .n = 7, .k = 256}, true},
                           Case{{.m = 16, .n = 7, .k = 255}, true},
                           Case{{.m = 16, .n = 7, .k = 8193}, true}}) {
    const Op op = GemmOp(test.shape, false);
    const OpTime time = PriceOn(op, toy);
    EXPECT_EQ(time.extrapolated, test.extrapolated) << ShapeText(op);
    // The flag changes no time.
    EXPECT_EQ(time.estimate, PriceToy(op).estimate) << ShapeText(op);
    EXPECT_FALSE(PriceToy(op).extrapolated) << ShapeText(op);
  }
}

TEST_F(PriceTest, SaysWhichSizesLieOutside) {
  ToyHardware toy;
  toy.stack.gemm[0].facts.fitted_ranges.Set(SizeName::kM, {16, 4096});
  FittedRanges& decode = toy.stack.attention_decode.facts.fitted_ranges;
  decode.Set(SizeName::kContextTokens, {1, 1000});
  decode.Set(SizeName::kRequests, {2, 64});
  const OpList ops = {
      GemmOp({.m = 32768, .n = 7, .k = 256}, false),
      GemmOp({.m = 8192, .n = 7, .k = 256}, false),
      GemmOp({.m = 64, .n = 7, .k = 256}, false),
      AttentionOp({.group = {Role::kDecode, 1, 1, 1000},
                   .query_heads = 8,
                   .kv_heads = 8,
                   .head_size = 128}),
      AttentionOp({.group = {Role::kPrefill, 1, 64, 0},
                   .query_heads = 8,
                   .kv_heads = 8,
                   .head_size = 256}),
  };
  const auto profile = toy.Build();
  const HardwareView view{profile->device(), profile->fabrics()[0],
                          profile->stacks()[0]};
  const KernelStackSpec& stack = profile->stacks()[0].spec();
  EXPECT_EQ(
      ExtrapolationText(ops, PriceAll(ops, view)),
      absl::StrCat(
          "4 of 5 ops lie outside the range that their kernel family was "
          "fitted on: attention_decode context_tokens 1001 > 1000 of ",
          stack.attention_decode.facts.id,
          ", attention_decode requests 1 < 2 of ",
          stack.attention_decode.facts.id, ", attention_prefill in a way that ",
          stack.attention_prefill.facts.id,
          " was not fitted on, gemm m 32768 > 4096 of ",
          stack.gemm[0].facts.id));
  const OpList inside = {ops[2]};
  EXPECT_EQ(ExtrapolationText(inside, PriceAll(inside, view)), "");
}

TEST_F(PriceTest, PrefillAttentionByHeadSize) {
  const auto tensor_us = [&](int head_size) {
    const Op op = AttentionOp({.group = {Role::kPrefill, 1, 4096, 0},
                               .query_heads = 8,
                               .kv_heads = 8,
                               .head_size = head_size});
    const OpTime time = PriceToy(op);
    EXPECT_EQ(time.extrapolated, head_size > 128);
    return Us(time.busy[Resource::kTensor]) * 1e15 / 1e6 /
           op.work.tensor.value();
  };
  EXPECT_NEAR(tensor_us(64), 2, 1e-9);  // Half the peak.
  EXPECT_NEAR(tensor_us(96), 1, 1e-9);  // The next listed size, 128.
  EXPECT_NEAR(tensor_us(128), 1, 1e-9);
  EXPECT_NEAR(tensor_us(256), 1, 1e-9);
}

TEST_F(PriceTest, PrefillAttentionReadsKeysAndValuesOnceAQueryTile) {
  // FlashAttention: 2 N d + 2 N^2 d / 128 elements of two bytes.
  constexpr double kN = 4096;
  constexpr double kSize = 128;
  AttentionShape shape{.group = {Role::kPrefill, 1, 4096, 0},
                       .query_heads = 1,
                       .kv_heads = 1,
                       .head_size = 128,
                       .causal = false};
  const double expected = 2 * kN * kSize + 2 * kN * kN * kSize / 128;
  const OpTime full = PriceToy(AttentionOp(shape));
  EXPECT_NEAR(full.traffic.l2.value(), 2 * expected, 1e-3);
  EXPECT_EQ(full.busy[Resource::kL2], Seconds::Zero());
  // Causal: tiles see what is before them, half of it and the diagonal.
  shape.causal = true;
  EXPECT_NEAR(PriceToy(AttentionOp(shape)).traffic.l2.value(),
              2 * (2 * kN * kSize + kN * (kN + 1) * kSize / 128), 1e-3);
  // Fewer rows than a tile: keys and values once.
  shape.causal = false;
  shape.group.new_tokens = 64;
  EXPECT_NEAR(PriceToy(AttentionOp(shape)).traffic.l2.value(),
              2 * 4 * 64 * kSize, 1e-3);
}

// Heads that share keys share their reads; tokens that chose theirs do not.
TEST_F(PriceTest, PrefillOnSharedVectorsReadsThemOnceATile) {
  const RequestGroup prompt{Role::kPrefill, 1, 1024, 0};
  const LatentAttentionShape chosen{.group = prompt,
                                    .query_heads = 16,
                                    .kv_lora_rank = 512,
                                    .nope_head_size = 128,
                                    .rope_head_size = 64,
                                    .value_head_size = 128,
                                    .top_k = 1};
  // One position a token, read by all its heads at once.
  EXPECT_NEAR(PriceToy(LatentAttentionOp(chosen)).traffic.l2.value(),
              2.0 * (1024 * 16 * (576 + 512) + 1024 * 576), 1e-3);
  CompressedAttentionShape entries{
      .group = prompt, .query_heads = 32, .head_size = 512, .window = 1};
  // Tiles of four tokens of 32 heads, each token with one position.
  const double queries = 1024.0 * 32 * 2 * 512;
  EXPECT_NEAR(PriceToy(CompressedAttentionOp(entries)).traffic.l2.value(),
              2 * (queries + 1024.0 / 4 * 512), 1e-3);
  entries.ratio = 1024;
  entries.top_k = 5;  // One entry, for the last token.
  EXPECT_NEAR(PriceToy(CompressedAttentionOp(entries)).traffic.l2.value(),
              2 * (queries + 1025 * 512), 1e-3);
}

TEST_F(PriceTest, CollectiveTakesTheFastestLine) {
  ToyHardware toy;
  auto& lines =
      toy.stack.collectives[static_cast<size_t>(LinkTier::kNvlink)]->lines;
  lines = {{Microseconds(5), Microseconds(1), GigabytesPerSecond(10)},
           {Microseconds(50), Microseconds(2), GigabytesPerSecond(100)}};
  const CollectiveShape shape{8, LinkTier::kNvlink};
  // 8 ranks: 14 steps, 1.75 buffers on the wire.
  const OpTime small = PriceOn(AllReduceOp(shape, Bytes::Of(1e4)), toy);
  EXPECT_NEAR(Us(small.estimate), 5 + 14 + 1.75e4 / 1e10 * 1e6, 1e-6);
  const OpTime large = PriceOn(AllReduceOp(shape, Bytes::Of(1e7)), toy);
  EXPECT_NEAR(Us(large.attributed[Resource::kSync]), 50 + 28, 1e-9);
  EXPECT_NEAR(Us(large.busy[Resource::kNvlink]), 1.75e7 / 1e11 * 1e6, 1e-6);
  EXPECT_NEAR(Us(large.floor), 175, 1e-6);
  EXPECT_EQ(large.limiting, Resource::kNvlink);
  // An all-gather passes its share on once: 7 steps, 7/8 of the buffer.
  const OpTime gather = PriceOn(AllGatherOp(shape, Bytes::Of(1e4)), toy);
  EXPECT_NEAR(Us(gather.estimate), 5 + 7 + 0.875e4 / 1e10 * 1e6, 1e-6);
}

TEST_F(PriceTest, SwitchReductionLowersTheFloorOfAllReduceAlone) {
  ToyHardware toy;
  toy.fabric.links[0].in_network_reduction = true;
  const CollectiveShape shape{8, LinkTier::kNvlink};
  EXPECT_NEAR(Us(PriceOn(AllReduceOp(shape, Bytes::Of(1e8)), toy).floor),
              1e8 * 9 / 8 / 1e11 * 1e6, 1e-6);
  EXPECT_NEAR(Us(PriceOn(AllGatherOp(shape, Bytes::Of(1e8)), toy).floor),
              1e8 * 7 / 8 / 1e11 * 1e6, 1e-6);
  // Two ranks: the ring's one buffer is less than the switch's one and a half.
  EXPECT_NEAR(
      Us(PriceOn(AllReduceOp({2, LinkTier::kNvlink}, Bytes::Of(1e8)), toy)
             .floor),
      1e8 / 1e11 * 1e6, 1e-6);
}

TEST_F(PriceTest, IntervalIsTenToNinetyPercent) {
  const OpTime time = PriceToy(GemmOp({.m = 64, .n = 64, .k = 64}, false));
  // Sigma 0.25: exp(1.2816 x 0.25) = 1.3777.
  EXPECT_NEAR(time.p90 / time.estimate, 1.3777, 1e-4);
  EXPECT_NEAR(time.estimate / time.p10, 1.3777, 1e-4);
}

TEST_F(PriceTest, HostCostsAreTheHostsRow) {
  ToyHardware toy;
  toy.stack.host.step = Microseconds(100);
  toy.stack.host.request = Microseconds(5);
  toy.stack.host.prefill_token = Microseconds(0.5);
  const OpTime time = PriceOn(HostOp({10, 200}), toy);
  EXPECT_NEAR(Us(time.estimate), 100 + 50 + 100, 1e-9);
  EXPECT_EQ(time.limiting, Resource::kHost);
  EXPECT_EQ(time.floor, Seconds::Zero());
}

TEST(PriceAll, EagerLaunchesAreExposedWhereTheDeviceIsFaster) {
  using mansard::testing::BuildGraph;
  using mansard::testing::BuildTarget;
  using mansard::testing::TargetOn;
  ToyHardware toy;
  const auto graph = BuildGraph(mansard::testing::TinyGraph());
  const ForwardPass pass = mansard::testing::DecodePass(1, 10);
  const auto step = [&] {
    const Target target = BuildTarget(TargetOn(graph, toy.Build()));
    const OpList ops =
        Lower(target.graph(), pass, target.layout(), target.formats(),
              target.view().stack.spec().fusion);
    const std::vector<OpTime> times = PriceAll(ops, target.view());
    Seconds total;
    int kernels = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      total += ops[i].repeat * times[i].estimate;
      if (ops[i].kind != OpKind::kHost) kernels += ops[i].repeat;
    }
    return std::pair(Us(total), kernels);
  };
  const auto [graphed, kernels] = step();
  // Embedding, two norms, head and sampling; a norm of the second layer;
  // eight a layer.
  EXPECT_EQ(kernels, 5 + 1 + 2 * 8);
  toy.stack.host.cuda_graphs = false;
  toy.stack.host.eager_launch = Microseconds(50);
  EXPECT_NEAR(step().first, 50.0 * kernels, 1e-9);  // The host paces the step.
  toy.stack.host.eager_launch = Microseconds(0.01);
  EXPECT_NEAR(step().first, graphed, 1e-9);  // The host runs ahead.
}

}  // namespace
}  // namespace mansard::model
