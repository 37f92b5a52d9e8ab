#include "model/estimate/roofline_ceilings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

class Ceilings {
 public:
  Ceilings(const Target& target, const OpList& ops, RooflineLevel level)
      : target_(target), ops_(ops), level_(level), view_(target.view()) {}

  std::vector<RooflineCeiling> Run() {
    const Device& device = view_.device;
    for (Format format : TensorFormats()) {
      const std::string label = absl::StrCat("tensor ", TraitsOf(format).name);
      const FlopsPerSecond rate = device.TensorRate(format);
      AddRate(label, rate, false);
      if (const GemmFamily* family = view_.stack.GemmFor(format)) {
        AddRate(label, rate * family->peak_fraction, true);
      }
    }
    if (const auto rate = device.VectorRate()) {
      AddRate("vector fp32", *rate, false);
    }
    const std::pair<const char*, const std::optional<MemoryLevel>*> caches[] = {
        {"smem", &device.spec().smem}, {"l2", &device.spec().l2}};
    for (const auto& [label, cache] : caches) {
      if (cache->has_value() && (*cache)->bandwidth.has_value()) {
        AddBandwidth(label, (*cache)->bandwidth->value, false);
      }
    }
    AddBandwidth("l2 effective feed", Family().l2_feed, true);
    AddBandwidth("hbm", device.HbmBandwidth(), false);
    AddBandwidth("hbm", device.HbmBandwidth() * Family().hbm_fraction, true);
    return std::move(ceilings_);
  }

 private:
  std::vector<Format> TensorFormats() const {
    std::vector<Format> formats;
    for (const Op& op : ops_) {
      const std::optional<Format> format = TensorFormat(op);
      if (format.has_value() &&
          std::find(formats.begin(), formats.end(), *format) == formats.end()) {
        formats.push_back(*format);
      }
    }
    return formats;
  }

  const GemmFamily& Family() const {
    return *view_.stack.GemmFor(target_.formats().compute);
  }

  // Of the level that the intensities count; empty where it is not known.
  std::optional<BytesPerSecond> LevelBandwidth(bool calibrated) const {
    const Device& device = view_.device;
    switch (level_) {
      case RooflineLevel::kHbm:
        return device.HbmBandwidth() *
               (calibrated ? Family().hbm_fraction : 1.0);
      case RooflineLevel::kL2:
        if (calibrated) return Family().l2_feed;
        if (!device.spec().l2.has_value() ||
            !device.spec().l2->bandwidth.has_value()) {
          return std::nullopt;
        }
        return device.spec().l2->bandwidth->value;
    }
    return std::nullopt;
  }

  void AddRate(std::string label, FlopsPerSecond rate, bool calibrated) {
    RooflineCeiling ceiling{.label = std::move(label),
                            .rate = rate,
                            .bandwidth = std::nullopt,
                            .calibrated = calibrated,
                            .ridge = {}};
    if (const auto bandwidth = LevelBandwidth(calibrated)) {
      ceiling.ridge = rate / *bandwidth;
    }
    ceilings_.push_back(std::move(ceiling));
  }

  void AddBandwidth(const char* label, BytesPerSecond bandwidth,
                    bool calibrated) {
    ceilings_.push_back({.label = label,
                         .rate = std::nullopt,
                         .bandwidth = bandwidth,
                         .calibrated = calibrated,
                         .ridge = {}});
  }

  const Target& target_;
  const OpList& ops_;
  const RooflineLevel level_;
  const HardwareView view_;
  std::vector<RooflineCeiling> ceilings_;
};

}  // namespace

std::vector<RooflineCeiling> CeilingsOf(const Target& target, const OpList& ops,
                                        RooflineLevel level) {
  return Ceilings(target, ops, level).Run();
}

}  // namespace mansard::model
