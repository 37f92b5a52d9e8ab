#include "calibrate/import/roofline_points.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "model/base/format.h"

namespace mansard::calibrate {

std::optional<Point> PointOf(const KernelCounts& counts, const Level& level) {
  const double flops = counts.flops().value_or(0);
  const double bytes = (counts.*level.bytes).value_or(0);
  const double seconds = counts.seconds.value_or(0);
  if (!(flops > 0) || !(bytes > 0) || !(seconds > 0)) return std::nullopt;
  return Point{flops / bytes, flops / seconds};
}

bool IsDrawn(const JudgedKernel& kernel) {
  return std::any_of(std::begin(kLevels), std::end(kLevels),
                     [&kernel](const Level& level) {
                       return PointOf(kernel.measured.counts, level);
                     });
}

std::vector<Roof> RatesOf(const std::vector<JudgedKernel>& kernels,
                          const model::Device& device) {
  std::vector<Roof> roofs;
  for (const model::Format format : model::AllFormats()) {
    if (!device.HasTensor(format)) continue;
    const std::string name(model::TraitsOf(format).name);
    const bool used = std::any_of(
        kernels.begin(), kernels.end(), [&name](const JudgedKernel& kernel) {
          const std::string& measured = kernel.measured.tensor_format;
          return !measured.empty() && name.rfind(measured, 0) == 0;
        });
    // Formats of one rate share a roof.
    const double rate = device.TensorRate(format).value();
    if (!used || std::any_of(roofs.begin(), roofs.end(), [rate](const Roof& r) {
          return r.rate == rate;
        })) {
      continue;
    }
    roofs.push_back({absl::StrCat("tensor ", name), rate});
  }
  if (const auto rate = device.VectorRate()) {
    roofs.push_back({"vector fp32", rate->value()});
  }
  return roofs;
}

std::optional<double> BandwidthOf(const Level& level,
                                  const model::Device& device) {
  const model::DeviceSpec& spec = device.spec();
  if (level.name == std::string("hbm")) return device.HbmBandwidth().value();
  // Shared memory and L1 are one.
  const auto& cache = level.name == std::string("l2") ? spec.l2 : spec.smem;
  if (!cache.has_value() || !cache->bandwidth.has_value()) return std::nullopt;
  return cache->bandwidth->value.value();
}

}  // namespace mansard::calibrate
