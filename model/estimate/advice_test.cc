#include "model/estimate/advice.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::PrefillPass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;
using ::testing::HasSubstr;

class AdviceTest : public ::testing::Test {
 protected:
  std::string Of(const Op& op) {
    const auto profile = toy_.Build();
    const OpTime time = Price(
        op, {profile->device(), profile->fabrics()[0], profile->stacks()[0]});
    return AdviceFor(op, time, profile->device());
  }
  ToyHardware toy_;
};

TEST(AdviceTable, EveryResourceEndsWithARowForEveryOp) {
  for (int i = 0; i < kResourceCount; ++i) {
    const auto resource = static_cast<Resource>(i);
    const AdviceRow* last = nullptr;
    for (const AdviceRow& row : AdviceTable()) {
      if (row.limit == resource) last = &row;
    }
    ASSERT_NE(last, nullptr) << ResourceName(resource);
    EXPECT_EQ(last->op_class, OpClass::kEvery) << ResourceName(resource);
    EXPECT_EQ(last->situation, Situation::kAlways) << ResourceName(resource);
  }
}

TEST(AdviceTable, NoRowHidesALaterOne) {
  std::set<std::tuple<Resource, OpClass, Situation>> seen;
  std::set<Resource> closed;
  std::set<std::pair<Resource, OpClass>> closed_classes;
  for (const AdviceRow& row : AdviceTable()) {
    EXPECT_FALSE(closed.contains(row.limit)) << row.cause;
    EXPECT_FALSE(closed_classes.contains({row.limit, row.op_class}))
        << row.cause;
    EXPECT_TRUE(seen.insert({row.limit, row.op_class, row.situation}).second)
        << row.cause;
    EXPECT_FALSE(row.cause.empty() || row.direction.empty());
    if (row.situation != Situation::kAlways) continue;
    closed_classes.insert({row.limit, row.op_class});
    if (row.op_class == OpClass::kEvery) closed.insert(row.limit);
  }
}

TEST_F(AdviceTest, FewRowsOfWideWeights) {
  const std::string advice = Of(GemmOp({.m = 1, .n = 4096, .k = 65536}, false));
  EXPECT_THAT(advice, HasSubstr("hbm: each weight is read for few rows"));
  EXPECT_THAT(advice, HasSubstr("quantise the weights"));
}

TEST_F(AdviceTest, NarrowWeightsAreNotToBeQuantisedAgain) {
  const std::string advice = Of(GemmOp({.m = 1,
                                        .n = 4096,
                                        .k = 65536,
                                        .input = Format::kFp8E4m3,
                                        .weights = Format::kFp8E4m3,
                                        .compute = Format::kFp8E4m3},
                                       false));
  EXPECT_THAT(advice, HasSubstr("narrow as it is"));
  EXPECT_THAT(advice, ::testing::Not(HasSubstr("quantise")));
}

TEST_F(AdviceTest, ManyRowsAreComputeBound) {
  const GemmShape shape{.m = 8192, .n = 8192, .k = 8192};
  toy_.stack.gemm[0].l2_feed = GigabytesPerSecond(1e6);
  EXPECT_THAT(Of(GemmOp(shape, false)), HasSubstr("8-bit weights"));
  // The device has no narrower rate.
  toy_.device.tensor_rates[static_cast<size_t>(Format::kFp8E4m3)].reset();
  EXPECT_THAT(Of(GemmOp(shape, false)), HasSubstr("only less work"));
}

TEST_F(AdviceTest, LongContexts) {
  AttentionShape shape{.group = {Role::kDecode, 8, 1, 99'999},
                       .query_heads = 32,
                       .kv_heads = 8,
                       .head_size = 128};
  EXPECT_THAT(Of(AttentionOp(shape)), HasSubstr("quantise the KV cache"));
  shape.kv_cache = Format::kFp8E4m3;
  EXPECT_THAT(Of(AttentionOp(shape)), HasSubstr("draft tokens"));
}

TEST_F(AdviceTest, UnfusedScores) {
  AttentionShape shape{.group = {Role::kPrefill, 1, 8192, 0},
                       .query_heads = 32,
                       .kv_heads = 8,
                       .head_size = 128};
  EXPECT_THAT(Of(AttentionOp(shape)), HasSubstr("tensor: scores grow"));
  shape.fused = false;
  EXPECT_THAT(Of(AttentionOp(shape)), HasSubstr("FlashAttention"));
}

TEST_F(AdviceTest, TinyAndSpilledElementwise) {
  EXPECT_THAT(Of(ResidualOp({1, 64})), HasSubstr("launch: starting"));
  EXPECT_THAT(Of(ResidualOp({1'000'000, 1000})),
              HasSubstr("recompute rather than store"));
}

TEST_F(AdviceTest, SmallAndLargeCollectives) {
  const CollectiveShape shape{8, LinkTier::kNvlink};
  EXPECT_THAT(Of(AllReduceOp(shape, Bytes::Of(100))),
              HasSubstr("sync: rounds"));
  EXPECT_THAT(Of(AllReduceOp(shape, Bytes::Of(1e9))),
              HasSubstr("nvlink: the buffer"));
}

TEST(Advice, EveryOpOfAGridOfStepsHasOneLine) {
  ToyHardware toy;
  toy.stack.host.step = Microseconds(100);
  const auto graph = BuildGraph(TinyGraph());
  for (const Format weights : {Format::kBf16, Format::kFp8E4m3}) {
    for (const int tensor : {1, 2}) {
      for (const ForwardPass& pass :
           {DecodePass(1, 10), DecodePass(10'000, 900), PrefillPass(1, 1),
            PrefillPass(100, 900)}) {
        TargetSpec spec = TargetOn(graph, toy.Build(), tensor);
        spec.weights = weights;
        const Target target = BuildTarget(spec);
        const Estimate estimate = EstimatePass(target, pass);
        for (size_t i = 0; i < estimate.ops.size(); ++i) {
          const OpTime& time = estimate.times[i];
          const Device& device = target.hardware().device();
          const AdviceRow& row = AdviceRowFor(estimate.ops[i], time, device);
          EXPECT_EQ(row.limit, time.limiting);
          const std::string line = AdviceFor(estimate.ops[i], time, device);
          EXPECT_EQ(line.find('\n'), std::string::npos);
          EXPECT_GT(line.size(), 20u);
        }
      }
    }
  }
}

}  // namespace
}  // namespace mansard::model
