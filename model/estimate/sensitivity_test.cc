#include "model/estimate/sensitivity.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/step_time.h"
#include "model/io/shipped.h"
#include "model/price/scaled_hardware.h"
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
using mansard::testing::TinyMoeGraph;
using mansard::testing::ToyHardware;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    auto data = LoadShippedData();
    if (!data.ok()) std::abort();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

TargetSpec ShippedSpec(const std::string& model, const std::string& hardware,
                       const std::string& stack, int tensor) {
  const auto& profile = Shipped().profiles.at(hardware);
  TargetSpec spec = TargetOn(Shipped().graphs.at(model), profile, tensor);
  spec.stack = profile->FindStack(stack);
  EXPECT_NE(spec.stack, nullptr) << stack;
  return spec;
}

std::vector<Sensitivity> RowsOf(const Target& target, const ForwardPass& pass,
                                double change) {
  return SensitivitiesOf(target, pass, EstimatePass(target, pass).phase,
                         change);
}

// What makes everything faster by a factor makes the step faster by it.
TEST(Sensitivity, AllResourcesTogetherScaleTheStep) {
  const Target target =
      BuildTarget(ShippedSpec("llama-3.1-70b", "h100-sxm", "generic", 8));
  const ForwardPass pass = DecodePass(64, 4096);
  OwnedHardware hardware = Faster(target.view(), Resource::kTensor, 2);
  for (int i = 1; i < kResourceCount; ++i) {
    hardware = Faster(hardware.view(), static_cast<Resource>(i), 2);
  }
  const PassSetup own = target.setup();
  StepTimer timer;
  const Seconds before = timer.Estimate(target, pass);
  const Seconds after = timer.Estimate(
      {own.graph, own.layout, own.formats, own.fusion, hardware.view()}, pass);
  EXPECT_NEAR(before / after, 2, 1e-9);
}

struct Case {
  const char* model;
  const char* hardware;
  const char* stack;
  int tensor;
  bool prefill;
};

class SmallChanges : public ::testing::TestWithParam<Case> {};

// d ln T / d ln rate is the attributed share, by the p-norm's attribution.
TEST_P(SmallChanges, GainTheAttributedShare) {
  const Case& c = GetParam();
  const Target target =
      BuildTarget(ShippedSpec(c.model, c.hardware, c.stack, c.tensor));
  const ForwardPass pass =
      c.prefill ? PrefillPass(1, 4096) : DecodePass(64, 4096);
  const PhaseEstimate phase = EstimatePass(target, pass).phase;
  constexpr double kChange = 1e-4;
  double shares = 0;
  double gains = 0;
  for (const Sensitivity& row : SensitivitiesOf(target, pass, phase, kChange)) {
    const double elasticity = row.gain / phase.estimate / kChange;
    EXPECT_NEAR(elasticity, row.share, 1e-3) << ResourceName(row.resource);
    shares += row.share;
    gains += elasticity;
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_NEAR(gains, 1, 2e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, SmallChanges,
    ::testing::Values(Case{"llama-3.1-8b", "h100-sxm", "generic", 1, false},
                      Case{"llama-3.1-8b", "h100-sxm", "generic", 1, true},
                      Case{"llama-3.1-70b", "h100-sxm", "generic", 8, false},
                      Case{"llama-3.1-70b", "a100-sxm-80gb", "generic", 4,
                           true},
                      Case{"llama-3.1-8b", "l40s", "generic", 2, false}));

// More of a resource never makes the step longer, and 10 % gain less than ten
// times what 1 % gains.
TEST(Sensitivity, GainsAreNotNegativeAndFlatten) {
  for (const char* stack : {"generic", "vllm-0.24"}) {
    const Target target =
        BuildTarget(ShippedSpec("llama-3.1-8b", "h100-sxm", stack, 1));
    const ForwardPass pass = DecodePass(64, 4096);
    const auto small = RowsOf(target, pass, 0.01);
    const auto large = RowsOf(target, pass, 0.1);
    for (size_t i = 0; i < large.size(); ++i) {
      EXPECT_GE(large[i].gain.value(), -1e-12) << stack;
      if (BoundOf(large[i].resource) == Bound::kOverhead) continue;
      EXPECT_LE(large[i].gain.value(), 10 * small[i].gain.value() + 1e-9)
          << stack << " " << ResourceName(large[i].resource);
    }
  }
}

// By hand: launches are 1 us a kernel.
TEST(Sensitivity, LaunchesShrinkByTheChange) {
  const Target target =
      BuildTarget(TargetOn(BuildGraph(TinyGraph()), ToyHardware().Build()));
  const ForwardPass pass = DecodePass(1, 10);
  const Estimate estimate = EstimatePass(target, pass);
  double launches = 0;
  for (size_t i = 0; i < estimate.ops.size(); ++i) {
    launches += estimate.ops[i].repeat *
                ToMicroseconds(estimate.times[i].busy[Resource::kLaunch]);
  }
  const auto rows = RowsOf(target, pass, 0.1);
  const Sensitivity& row = rows[static_cast<size_t>(Resource::kLaunch)];
  EXPECT_EQ(row.resource, Resource::kLaunch);
  EXPECT_GT(launches, 0);
  EXPECT_NEAR(ToMicroseconds(row.gain), 0.1 * launches, 1e-9);
  EXPECT_EQ(rows[static_cast<size_t>(Resource::kNvlink)].gain.value(), 0);
}

TEST(FasterHardware, ChangesNothingElse) {
  const Target target =
      BuildTarget(ShippedSpec("llama-3.1-8b", "h100-sxm", "generic", 1));
  const OwnedHardware hbm = Faster(target.view(), Resource::kHbm, 2);
  EXPECT_EQ(hbm.device.HbmBandwidth() / target.view().device.HbmBandwidth(), 2);
  EXPECT_EQ(hbm.device.TensorRate(Format::kBf16),
            target.view().device.TensorRate(Format::kBf16));
  EXPECT_EQ(hbm.device.HbmCapacity(), target.view().device.HbmCapacity());
  const OwnedHardware fewer = WithoutMultiprocessors(target.view(), 33);
  EXPECT_NEAR(fewer.device.TensorRate(Format::kBf16) /
                  target.view().device.TensorRate(Format::kBf16),
              0.75, 1e-12);
}

}  // namespace
}  // namespace mansard::model
