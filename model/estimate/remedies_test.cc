#include "model/estimate/remedies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/io/shipped.h"
#include "tests/toy/published_shapes.h"
#include "tests/toy/toy_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::model {
namespace {

using mansard::testing::BuildGraph;
using mansard::testing::BuildPass;
using mansard::testing::BuildTarget;
using mansard::testing::DecodePass;
using mansard::testing::TargetOn;
using mansard::testing::TinyGraph;
using mansard::testing::ToyHardware;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<RemedyKind> KindsOf(const std::vector<Remedy>& remedies) {
  std::vector<RemedyKind> kinds;
  for (const Remedy& remedy : remedies) kinds.push_back(remedy.kind);
  return kinds;
}

std::vector<Remedy> RemediesOf(const TargetSpec& spec,
                               const ForwardPass& pass) {
  const Target target = BuildTarget(spec);
  return RemediesFor(target, pass, EstimatePass(target, pass).memory);
}

// 96 bytes a token.
TargetSpec OnToyOf(double capacity, bool paged = false) {
  ToyHardware toy;
  toy.device.hbm.capacity.value = Bytes::Of(capacity);
  if (paged) toy.stack.memory = EngineMemory{.block_tokens = 16};
  return TargetOn(BuildGraph(TinyGraph()), toy.Build());
}
double WeightsOfToy() {
  return EstimatePass(BuildTarget(OnToyOf(80e9)), DecodePass(1, 1))
      .memory.weights.value();
}

TEST(Remedies, NoneWhereItFits) {
  EXPECT_THAT(RemediesOf(OnToyOf(80e9), DecodePass(10, 100)), IsEmpty());
}

// Four times 30 tokens are 128 in blocks of 16, and there is room for 100. Each
// alone makes the pass fit; a context or a request more would not.
TEST(Remedies, EachSuffices) {
  // Two hidden states, and 72 elements within a feed-forward.
  const double workspace = 2 * (2 * 16 + 72);
  const TargetSpec spec =
      OnToyOf(WeightsOfToy() + 100 * 96 + 4 * workspace, true);
  const ForwardPass pass = DecodePass(4, 30);
  const std::vector<Remedy> remedies = RemediesOf(spec, pass);
  ASSERT_THAT(KindsOf(remedies),
              ElementsAre(RemedyKind::kTensorSize, RemedyKind::kPipelineSize,
                          RemedyKind::kDataSize, RemedyKind::kWeights,
                          RemedyKind::kKvCache, RemedyKind::kContext,
                          RemedyKind::kRequestCount));
  const auto needed = [&](const TargetSpec& changed, const ForwardPass& work) {
    const MemoryFootprint memory =
        EstimatePass(BuildTarget(changed), work).memory;
    EXPECT_TRUE(memory.fits);
    return memory.needed();
  };
  TargetSpec changed = spec;
  EXPECT_EQ(remedies[0].number, 2);
  changed.parallelism.tensor = 2;
  EXPECT_EQ(remedies[0].needed, needed(changed, pass));
  changed = spec;
  EXPECT_EQ(remedies[1].number, 2);
  changed.parallelism.pipeline = 2;
  EXPECT_EQ(remedies[1].needed, needed(changed, pass));
  changed = spec;
  EXPECT_EQ(remedies[2].number, 2);
  changed.parallelism.data = 2;
  EXPECT_EQ(remedies[2].needed, needed(changed, pass));
  changed = spec;
  EXPECT_EQ(remedies[3].format, Format::kFp8E4m3);
  changed.weights = Format::kFp8E4m3;
  EXPECT_EQ(remedies[3].needed, needed(changed, pass));
  EXPECT_EQ(remedies[4].format, Format::kFp8E4m3);
  EXPECT_EQ(remedies[4].needed.value(),
            WeightsOfToy() + 4 * workspace + 128 * 48);
  EXPECT_EQ(remedies[5].number, 16);
  EXPECT_EQ(remedies[5].needed.value(),
            WeightsOfToy() + 4 * workspace + 64 * 96);
  EXPECT_EQ(remedies[6].number, 3);
  EXPECT_EQ(remedies[6].needed.value(),
            WeightsOfToy() + 3 * workspace + 96 * 96);
}

TEST(Remedies, OfPassesOfSeveralGroupsLeaveTheirCountsAlone) {
  const ForwardPass pass =
      BuildPass({{Role::kDecode, 2, 1, 30}, {Role::kPrefill, 1, 8, 30}});
  const std::vector<Remedy> remedies =
      RemediesOf(OnToyOf(WeightsOfToy() + 60 * 96), pass);
  for (const Remedy& remedy : remedies) {
    EXPECT_NE(remedy.kind, RemedyKind::kRequestCount);
    if (remedy.kind == RemedyKind::kContext) {
      EXPECT_EQ(remedy.number, 20);  // Three times as many are 60.
    }
  }
}

// 70,553,706,496 parameters: 141.1 GB in bf16, 71 in eight bits.
TEST(Remedies, OfLlama70bOnOneH100) {
  const auto shipped = LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const TargetSpec spec = TargetOn(shipped->graphs.at("llama-3.1-70b"),
                                   shipped->profiles.at("h100-sxm"));
  const std::vector<Remedy> remedies = RemediesOf(spec, DecodePass(1, 1024));
  ASSERT_THAT(KindsOf(remedies),
              ElementsAre(RemedyKind::kTensorSize, RemedyKind::kPipelineSize,
                          RemedyKind::kWeights));
  // Two leave 76.5 - 70.6 GB for a workspace of 5.1 and the reserve: 4 fit.
  EXPECT_GE(remedies[0].number, 2);
  EXPECT_LE(remedies[0].number, 4);
  // In eight bits with head and embedding in 16: 72.7 GB, and the workspace.
  EXPECT_LT(TraitsOf(remedies[2].format).element_bits, 8);
  for (const Remedy& remedy : remedies) {
    EXPECT_LE(remedy.needed.value(), 0.9 * 85018877624);
  }
}

// Of a long context the cache's format is one, too.
TEST(Remedies, OfALongContext) {
  const auto shipped = LoadShippedData();
  ASSERT_TRUE(shipped.ok()) << shipped.status();
  const TargetSpec spec = TargetOn(shipped->graphs.at("llama-3.1-8b"),
                                   shipped->profiles.at("h100-sxm"));
  // 131,072 bytes a token: 68.7 GB, of which 34.4 remain in eight bits.
  const std::vector<Remedy> remedies = RemediesOf(spec, DecodePass(4, 131072));
  EXPECT_THAT(KindsOf(remedies),
              ElementsAre(RemedyKind::kTensorSize, RemedyKind::kPipelineSize,
                          RemedyKind::kDataSize, RemedyKind::kKvCache,
                          RemedyKind::kContext, RemedyKind::kRequestCount));
  EXPECT_EQ(remedies[0].number, 2);
  // Two requests a data rank: 34.4 GB beside 16.1 of weights.
  EXPECT_EQ(remedies[2].number, 2);
  EXPECT_EQ(remedies[3].format, Format::kFp8E4m3);
  EXPECT_EQ(remedies[4].number % 16, 0);
  EXPECT_EQ(remedies[5].number, 3);
}

// Experts that are whole on their ranks stay so.
TEST(Remedies, ExpertsFollowTheRanks) {
  ToyHardware toy;
  toy.device.hbm.capacity.value = Bytes::Of(200e9);
  TargetSpec spec =
      TargetOn(BuildGraph(mansard::testing::DeepSeekV3()), toy.Build(), 1);
  spec.parallelism.data = 4;
  spec.parallelism.expert = 4;
  const std::vector<Remedy> remedies = RemediesOf(spec, DecodePass(4, 1000));
  // 653.9e9 parameters of experts: 327 GB a rank of four, 164 of eight, and
  // 34 beside them.
  ASSERT_EQ(KindsOf(remedies)[0], RemedyKind::kTensorSize);
  EXPECT_EQ(remedies[0].number, 2);
  TargetSpec changed = spec;
  changed.parallelism.tensor = 2;
  changed.parallelism.expert = 8;
  EXPECT_EQ(
      remedies[0].needed,
      EstimatePass(BuildTarget(changed), DecodePass(4, 1000)).memory.needed());
}

TEST(Remedies, NoneWhereNothingAloneSuffices) {
  EXPECT_THAT(RemediesOf(OnToyOf(100), DecodePass(1, 1)), IsEmpty());
}

}  // namespace
}  // namespace mansard::model
