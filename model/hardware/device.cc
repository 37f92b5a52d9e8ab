#include "model/hardware/device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/magnitude.h"

namespace mansard::model {
namespace {

using Rates = std::array<std::optional<Sourced<FlopsPerSecond>>, kFormatCount>;

void CheckRates(const Rates& rates, absl::string_view unit,
                Violations& violations) {
  for (Format format : AllFormats()) {
    const auto& rate = rates[static_cast<size_t>(format)];
    if (!rate) continue;
    CheckPositive(
        "peak_rates",
        absl::StrCat("flops_per_second of ", unit, " ", TraitsOf(format).name),
        rate->value.value(), violations);
  }
}

void CheckLevel(const MemoryLevel& level, absl::string_view name,
                Violations& violations) {
  CheckPositive("memory_levels", absl::StrCat("capacity_bytes of ", name),
                level.capacity.value.value(), violations);
  if (level.bandwidth) {
    CheckPositive("memory_levels",
                  absl::StrCat("bandwidth_bytes_per_second of ", name),
                  level.bandwidth->value.value(), violations);
  }
}

// The format whose tensor rate applies to operands in `format`; empty where
// the device has none.
std::optional<Format> TensorUnitFor(const Device& device, Format format) {
  if (device.HasTensor(format)) return format;
  switch (format) {
    case Format::kFp8E5m2:
    case Format::kFp8Block:
    case Format::kMxfp8:
      // The same 8-bit floating-point units; only the scales differ.
      if (device.HasTensor(Format::kFp8E4m3)) return Format::kFp8E4m3;
      return std::nullopt;
    case Format::kInt4Group64:
    case Format::kInt4Group32:
    case Format::kInt4Symmetric:
    case Format::kInt4Group64Symmetric:
    case Format::kInt4Group32Symmetric:
      if (device.HasTensor(Format::kInt4)) return Format::kInt4;
      return std::nullopt;
    case Format::kInt8Group128:
    case Format::kInt8Group64:
      if (device.HasTensor(Format::kInt8)) return Format::kInt8;
      return std::nullopt;
    case Format::kFp32:
    case Format::kTf32:
    case Format::kBf16:
    case Format::kFp16:
    case Format::kFp8E4m3:
    case Format::kInt8:
    case Format::kInt4:
    case Format::kMxfp4:
    case Format::kNvfp4:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Device> Device::Create(DeviceSpec spec, Violations& violations) {
  const size_t before = violations.all().size();
  const auto any = [](const Rates& rates) {
    return std::any_of(rates.begin(), rates.end(),
                       [](const auto& rate) { return rate.has_value(); });
  };
  if (spec.multiprocessor_count) {
    CheckPositive("multiprocessor_count", "", spec.multiprocessor_count->value,
                  violations);
  }
  if (spec.clock_hertz) {
    CheckPositive("clock_hertz", "", spec.clock_hertz->value, violations);
  }
  if (!any(spec.tensor_rates) && !any(spec.vector_rates)) {
    violations.Add("peak_rates",
                   "has no rate; one of unit \"tensor\" or \"vector\" is "
                   "needed at least");
  }
  CheckRates(spec.tensor_rates, "tensor", violations);
  CheckRates(spec.vector_rates, "vector", violations);
  if (spec.special_function_rate) {
    CheckPositive("special_functions_per_second", "",
                  spec.special_function_rate->value.value(), violations);
  }
  if (spec.smem) CheckLevel(*spec.smem, "smem", violations);
  if (spec.l2) CheckLevel(*spec.l2, "l2", violations);
  CheckLevel(spec.hbm, "hbm", violations);
  if (!spec.hbm.bandwidth) {
    violations.Add("memory_levels",
                   "bandwidth_bytes_per_second of hbm is required");
  }
  if (spec.board_power_watts) {
    CheckPositive("board_power_watts", "", spec.board_power_watts->value,
                  violations);
  }
  if (violations.all().size() != before) return std::nullopt;
  return Device(std::move(spec));
}

FlopsPerSecond Device::TensorRate(Format format) const {
  return spec_.tensor_rates[static_cast<size_t>(format)]->value;
}

std::optional<FlopsPerSecond> Device::VectorRate() const {
  const auto& rate = spec_.vector_rates[static_cast<size_t>(Format::kFp32)];
  if (!rate) return std::nullopt;
  return rate->value;
}

Bytes Device::L2Capacity() const {
  return spec_.l2 ? spec_.l2->capacity.value : Bytes::Zero();
}

std::optional<ComputeFormat> Device::ComputeFor(Format weights,
                                                Format activations) const {
  const int weight_bits = TraitsOf(weights).element_bits;
  const int activation_bits = TraitsOf(activations).element_bits;
  const bool widen =
      IsLowPrecision(activations) && weight_bits > activation_bits;
  std::optional<Format> unit = TensorUnitFor(*this, activations);
  // Narrow activations were asked for: they need their unit even where wider
  // weights then set the rate.
  if (unit && widen) unit = TensorUnitFor(*this, weights);
  if (!unit) return std::nullopt;
  return ComputeFormat{.format = *unit,
                       .weight_only = weight_bits < activation_bits};
}

std::string Device::TensorFormatNames() const {
  std::string names;
  for (Format format : AllFormats()) {
    if (!HasTensor(format)) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", TraitsOf(format).name);
  }
  return names.empty() ? "none" : names;
}

std::vector<std::string> Device::Lint() const {
  // Vendors round peaks and clocks to three digits; a sparse or mistyped rate
  // is off by far more.
  constexpr double kTolerance = 0.02;
  if (!spec_.clock_hertz || !spec_.multiprocessor_count ||
      !spec_.peak_rate_note.empty()) {
    return {};
  }
  const Format format =
      HasTensor(Format::kBf16) ? Format::kBf16 : Format::kFp16;
  if (!HasTensor(format)) return {};
  const double per_clock =
      TensorRate(format).value() /
      (spec_.multiprocessor_count->value * spec_.clock_hertz->value);
  const double nearest = std::exp2(std::round(std::log2(per_clock)));
  if (std::abs(per_clock / nearest - 1) <= kTolerance) return {};
  return {absl::StrFormat(
      "the dense %s rate is %.0f operations per multiprocessor and clock; the "
      "nearest power of two is %.0f: check the rate (sparse?), the clock and "
      "the count, or explain it in peak_rate_note",
      TraitsOf(format).name, per_clock, nearest)};
}

}  // namespace mansard::model
