// What physics demands of the shipped calibrated stacks, whose kernels are
// searched for: better hardware is never slower, and more work is hardly ever
// faster.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/estimate/step_time.h"
#include "model/io/shipped.h"
#include "tests/toy/fine_hardware.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::DeviceSpec;
using model::Format;
using model::ForwardPass;
using model::HardwareProfile;
using model::Role;
using model::Target;

// More of the work takes less time where it fills more multiprocessors: tiles
// that wait for memory are then fed by all of them. Of a step.
constexpr double kStepDown = 0.05;
// Libraries reduce small buffers by a kernel of their own, which need not be
// the faster one where its range ends. Of a step among ranks.
constexpr double kSwitch = 0.3;
// A GEMM's configuration is chosen before power droops: where better hardware
// makes it another one, that may droop more. Of a step.
constexpr double kDroop = 2e-3;

const model::ShippedData& Shipped() {
  static const model::ShippedData* const kData = [] {
    auto data = model::LoadShippedData();
    if (!data.ok()) std::abort();
    return new model::ShippedData(*std::move(data));
  }();
  return *kData;
}

using Hardware = std::shared_ptr<const HardwareProfile>;
using Change = std::function<void(DeviceSpec&)>;

bool IsCalibrated(const model::KernelStack& stack) {
  return !stack.spec().fine.plain_gemm.families().empty();
}

// Devices with a calibrated stack, and one with a family for every kernel.
std::vector<Hardware> Calibrated() {
  std::vector<Hardware> all = {FineHardware().Build()};
  for (const auto& [id, hardware] : Shipped().profiles) {
    if (std::any_of(hardware->stacks().begin(), hardware->stacks().end(),
                    IsCalibrated)) {
      all.push_back(hardware);
    }
  }
  return all;
}

// The same with another device.
Hardware Changed(const HardwareProfile& hardware, const Change& change) {
  model::Violations violations;
  DeviceSpec spec = hardware.device().spec();
  change(spec);
  auto device = model::Device::Create(std::move(spec), violations);
  if (!device.has_value()) return nullptr;
  auto changed = HardwareProfile::Create(hardware.id(), hardware.display_name(),
                                         *std::move(device), hardware.fabrics(),
                                         hardware.stacks(), violations);
  if (!changed.has_value()) return nullptr;
  return std::make_shared<const HardwareProfile>(*std::move(changed));
}

template <class Rates>
void Scale(Rates& rates, double factor) {
  for (auto& rate : rates) {
    if (rate.has_value()) rate->value *= factor;
  }
}

struct Case {
  const char* model;
  int tensor;
  Format format;
};
constexpr Case kCases[] = {{"llama-3.1-8b", 1, Format::kBf16},
                           {"llama-3.1-70b", 8, Format::kBf16},
                           {"mixtral-8x7b", 2, Format::kBf16},
                           {"deepseek-v3", 8, Format::kFp8E4m3},
                           {"llama-3.1-8b", 1, Format::kFp8E4m3}};

// Empty where the device computes in no such format or the ranks do not fit.
std::optional<Target> TargetOf(const Case& c, const Hardware& hardware,
                               size_t stack) {
  model::TargetSpec spec =
      TargetOn(Shipped().graphs.at(c.model), hardware, c.tensor);
  spec.stack = &hardware->stacks()[stack];
  spec.weights = spec.activations = c.format;
  model::Violations violations;
  absl::StatusOr<Target> target = Target::Create(spec, violations);
  if (!target.ok()) return std::nullopt;
  return *std::move(target);
}

// Calls `check` with each case on each calibrated stack; returns how often.
int ForAll(
    const std::function<void(const Case&, const Hardware&, size_t)>& check) {
  int checked = 0;
  for (const Hardware& hardware : Calibrated()) {
    for (size_t stack = 0; stack < hardware->stacks().size(); ++stack) {
      if (!IsCalibrated(hardware->stacks()[stack])) continue;
      for (const Case& c : kCases) {
        if (!TargetOf(c, hardware, stack).has_value()) continue;
        SCOPED_TRACE(::testing::Message()
                     << c.model << " " << model::TraitsOf(c.format).name
                     << " on " << hardware->id() << " "
                     << hardware->stacks()[stack].spec().id);
        check(c, hardware, stack);
        ++checked;
      }
    }
  }
  return checked;
}

std::vector<ForwardPass> Passes() {
  std::vector<ForwardPass> passes;
  for (const int64_t batch : {1, 17, 64, 300, 1111}) {
    passes.push_back(DecodePass(batch, 2500));
  }
  for (const int64_t tokens : {33, 512, 1500, 8192}) {
    passes.push_back(PrefillPass(1, tokens));
  }
  passes.push_back(BuildPass(
      {{Role::kPrefill, 1, 512, 1024}, {Role::kDecode, 64, 1, 4000}}));
  return passes;
}

// With ever more of it no pass takes longer.
void ExpectNotSlowerWith(
    const std::function<void(DeviceSpec&, double factor)>& more) {
  const int checked =
      ForAll([&](const Case& c, const Hardware& hardware, size_t stack) {
        model::StepTimer timer;
        const std::vector<ForwardPass> passes = Passes();
        std::vector<double> last(passes.size(), 1e30);
        for (const double factor : {0.5, 0.9, 1.0, 1.05, 1.3, 2.0, 4.0}) {
          const Hardware changed = Changed(
              *hardware, [&](DeviceSpec& device) { more(device, factor); });
          ASSERT_NE(changed, nullptr);
          const auto target = TargetOf(c, changed, stack);
          ASSERT_TRUE(target.has_value());
          for (size_t i = 0; i < passes.size(); ++i) {
            const double now = timer.Estimate(*target, passes[i]).value();
            EXPECT_LE(now, last[i] * (1 + kDroop))
                << "factor " << factor << ", " << passes[i].total_new_tokens()
                << " tokens";
            last[i] = now;
          }
        }
      });
  EXPECT_GT(checked, 20);
}

TEST(CalibratedProperties, NotSlowerWithMoreBandwidth) {
  ExpectNotSlowerWith([](DeviceSpec& device, double factor) {
    device.hbm.bandwidth->value *= factor;
  });
}

TEST(CalibratedProperties, NotSlowerWithHigherPeaks) {
  ExpectNotSlowerWith([](DeviceSpec& device, double factor) {
    Scale(device.tensor_rates, factor);
    Scale(device.vector_rates, factor);
  });
}

// Each as fast as those before.
TEST(CalibratedProperties, NotSlowerWithMoreMultiprocessors) {
  ExpectNotSlowerWith([](DeviceSpec& device, double factor) {
    if (!device.multiprocessor_count.has_value()) return;
    const double before = device.multiprocessor_count->value;
    device.multiprocessor_count->value = std::round(before * factor);
    const double ratio = device.multiprocessor_count->value / before;
    Scale(device.tensor_rates, ratio);
    Scale(device.vector_rates, ratio);
    if (device.smem.has_value()) device.smem->capacity.value *= ratio;
  });
}

TEST(CalibratedProperties, HardlyEverFasterWithMoreTokens) {
  ForAll([&](const Case& c, const Hardware& hardware, size_t stack) {
    const auto target = TargetOf(c, hardware, stack);
    const double down = c.tensor == 1 ? kStepDown : kSwitch;
    model::StepTimer timer;
    // The longest of all before: steps down do not add up.
    double decode = 0;
    double prefill = 0;
    for (int64_t tokens = 1; tokens <= 1100; ++tokens) {
      const double more =
          timer.Estimate(*target, DecodePass(tokens, 1000)).value();
      const double longer =
          timer.Estimate(*target, PrefillPass(1, tokens)).value();
      EXPECT_GE(more, decode * (1 - down)) << tokens << " decodes";
      EXPECT_GE(longer, prefill * (1 - down)) << "prompt of " << tokens;
      decode = std::max(decode, more);
      prefill = std::max(prefill, longer);
    }
  });
}

}  // namespace
}  // namespace mansard::testing
