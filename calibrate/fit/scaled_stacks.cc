#include "calibrate/fit/scaled_stacks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

using model::Format;

// One standard deviation, by the design's table of such predictions: of the
// same architecture, and of another.
constexpr double kSameSigma = 0.1;
constexpr double kOtherSigma = 0.2;

struct Ratios {
  double multiprocessors = 1;
  double clock = 1;
  double tensor = 1;
  double hbm = 1;
};

std::optional<Ratios> RatiosOf(const model::Device& source,
                               const model::Device& device) {
  const model::DeviceSpec& from = source.spec();
  const model::DeviceSpec& to = device.spec();
  if (to.vendor != from.vendor || !to.multiprocessor_count.has_value() ||
      !to.clock_hertz.has_value() || !device.HasTensor(Format::kBf16)) {
    return std::nullopt;
  }
  return Ratios{
      to.multiprocessor_count->value / from.multiprocessor_count->value,
      to.clock_hertz->value / from.clock_hertz->value,
      device.TensorRate(Format::kBf16) / source.TensorRate(Format::kBf16),
      device.HbmBandwidth() / source.HbmBandwidth()};
}

}  // namespace

std::optional<model::BoundFamily> ScaledGemm(
    const model::HardwareProfile& source,
    const model::HardwareProfile& device) {
  const model::KernelStack* stack = source.FindStack(kScaleSourceStack);
  if (stack == nullptr || source.id() == device.id()) return std::nullopt;
  const model::TiledGemmFamily* fitted =
      stack->spec().fine.plain_gemm.For(static_cast<size_t>(Format::kBf16));
  const std::optional<Ratios> ratios =
      RatiosOf(source.device(), device.device());
  if (fitted == nullptr || !ratios.has_value()) return std::nullopt;
  model::TiledGemmFamily family = *fitted;
  const double chip = ratios->multiprocessors * ratios->clock;
  // More tensor work of a multiprocessor and clock needs wider operands' ways.
  family.l2_feed *= chip * std::sqrt(std::max(1.0, ratios->tensor / chip));
  family.sm_hbm_feed *= ratios->hbm / ratios->multiprocessors;
  family.sm_smem_feed *=
      std::max(ratios->clock, ratios->tensor / ratios->multiprocessors);
  const bool same = source.device().spec().architecture ==
                    device.device().spec().architecture;
  family.facts = {
      .id = "gemm-bf16-scaled",
      .tier = model::Tier::kTransferred,
      .sigma = same ? kSameSigma : kOtherSigma,
      .provenance = {
          model::ProvenanceKind::kScaled,
          absl::StrCat("fit of ", kScaleSource, ", ", kScaleSourceStack,
                       ", by multiprocessors, clock, tensor and "
                       "memory rates of both datasheets"),
          fitted->facts.provenance.observe_date}};
  return model::BoundFamily{"plain_gemm", "bf16", "", family};
}

}  // namespace mansard::calibrate
