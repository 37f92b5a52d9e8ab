#include "model/io/device_io.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/io/graph_io.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

constexpr const char* kTensor = "tensor";
constexpr const char* kVector = "vector";

void ReadPeakRate(const v1::PeakRate& proto, DeviceSpec& spec,
                  Violations& violations) {
  Sourced<FlopsPerSecond> rate = SourcedFromProto<FlopsPerSecond>(
      proto.flops_per_second(), "flops_per_second", violations);
  if (proto.precision().empty()) AddRequired("precision", violations);
  const std::optional<Format> format =
      FormatFromProto(proto.precision(), "precision", violations);
  if (proto.unit() != kTensor && proto.unit() != kVector) {
    violations.Add("unit", absl::StrCat("is \"", proto.unit(),
                                        "\"; allowed: tensor, vector"));
    return;
  }
  if (!format) return;
  auto& rates = proto.unit() == kTensor ? spec.tensor_rates : spec.vector_rates;
  auto& slot = rates[static_cast<size_t>(*format)];
  if (slot) {
    violations.Add("precision",
                   absl::StrCat(proto.unit(), " ", proto.precision(),
                                " has a rate already"));
  }
  slot = std::move(rate);
}

// `seen` holds the levels read so far.
void ReadMemoryLevel(const v1::MemoryLevel& proto, std::set<std::string>& seen,
                     DeviceSpec& spec, Violations& violations) {
  MemoryLevel level;
  level.capacity = SourcedFromProto<Bytes>(proto.capacity_bytes(),
                                           "capacity_bytes", violations);
  if (proto.has_bandwidth_bytes_per_second()) {
    level.bandwidth = SourcedFromProto<BytesPerSecond>(
        proto.bandwidth_bytes_per_second(), "bandwidth_bytes_per_second",
        violations);
  }
  if (!seen.insert(proto.level()).second) {
    violations.Add("level",
                   absl::StrCat("\"", proto.level(), "\" is there already"));
  }
  if (proto.level() == "smem") {
    spec.smem = std::move(level);
  } else if (proto.level() == "l2") {
    spec.l2 = std::move(level);
  } else if (proto.level() == "hbm") {
    spec.hbm = std::move(level);
  } else {
    violations.Add("level", absl::StrCat("is \"", proto.level(),
                                         "\"; allowed: smem, l2, hbm"));
  }
}

void ReadOptionalNumbers(const v1::Device& proto, DeviceSpec& spec,
                         Violations& violations) {
  if (proto.has_multiprocessor_count()) {
    spec.multiprocessor_count = SourcedFromProto<double>(
        proto.multiprocessor_count(), "multiprocessor_count", violations);
  }
  if (proto.has_clock_hertz()) {
    spec.clock_hertz = SourcedFromProto<double>(proto.clock_hertz(),
                                                "clock_hertz", violations);
  }
  if (proto.has_board_power_watts()) {
    spec.board_power_watts = SourcedFromProto<double>(
        proto.board_power_watts(), "board_power_watts", violations);
  }
  if (proto.has_special_functions_per_second()) {
    spec.special_function_rate = SourcedFromProto<FlopsPerSecond>(
        proto.special_functions_per_second(), "special_functions_per_second",
        violations);
  }
}

}  // namespace

std::optional<Device> DeviceFromProto(const v1::Device& proto,
                                      Violations& violations) {
  const size_t before = violations.all().size();
  DeviceSpec spec;
  spec.vendor = proto.vendor();
  spec.architecture = proto.architecture();
  spec.peak_rate_note = proto.peak_rate_note();
  ReadOptionalNumbers(proto, spec, violations);
  for (int i = 0; i < proto.peak_rates_size(); ++i) {
    Violations::Scope entry(violations,
                            Indexed("peak_rates", static_cast<size_t>(i)));
    ReadPeakRate(proto.peak_rates(i), spec, violations);
  }
  std::set<std::string> levels;
  for (int i = 0; i < proto.memory_levels_size(); ++i) {
    Violations::Scope entry(violations,
                            Indexed("memory_levels", static_cast<size_t>(i)));
    ReadMemoryLevel(proto.memory_levels(i), levels, spec, violations);
  }
  if (levels.count("hbm") == 0) {
    violations.Add("memory_levels", "has no level \"hbm\"");
    spec.hbm = {.capacity = {Bytes::Of(1), {}},
                .bandwidth = {{BytesPerSecond::Of(1), {}}}};
  }
  std::optional<Device> device = Device::Create(std::move(spec), violations);
  if (violations.all().size() != before) return std::nullopt;
  return device;
}

v1::Device DeviceToProto(const Device& device) {
  const DeviceSpec& spec = device.spec();
  v1::Device proto;
  proto.set_vendor(spec.vendor);
  proto.set_architecture(spec.architecture);
  proto.set_peak_rate_note(spec.peak_rate_note);
  if (spec.multiprocessor_count) {
    *proto.mutable_multiprocessor_count() =
        SourcedToProto(*spec.multiprocessor_count);
  }
  if (spec.clock_hertz) {
    *proto.mutable_clock_hertz() = SourcedToProto(*spec.clock_hertz);
  }
  const auto add_rates = [&](const auto& rates, const char* unit) {
    for (Format format : AllFormats()) {
      const auto& rate = rates[static_cast<size_t>(format)];
      if (!rate) continue;
      v1::PeakRate& added = *proto.add_peak_rates();
      added.set_precision(std::string(TraitsOf(format).name));
      added.set_unit(unit);
      *added.mutable_flops_per_second() = SourcedToProto(*rate);
    }
  };
  add_rates(spec.tensor_rates, kTensor);
  add_rates(spec.vector_rates, kVector);
  const auto add_level = [&](const char* name, const MemoryLevel& level) {
    v1::MemoryLevel& added = *proto.add_memory_levels();
    added.set_level(name);
    *added.mutable_capacity_bytes() = SourcedToProto(level.capacity);
    if (level.bandwidth) {
      *added.mutable_bandwidth_bytes_per_second() =
          SourcedToProto(*level.bandwidth);
    }
  };
  if (spec.smem) add_level("smem", *spec.smem);
  if (spec.l2) add_level("l2", *spec.l2);
  add_level("hbm", spec.hbm);
  if (spec.board_power_watts) {
    *proto.mutable_board_power_watts() =
        SourcedToProto(*spec.board_power_watts);
  }
  if (spec.special_function_rate) {
    *proto.mutable_special_functions_per_second() =
        SourcedToProto(*spec.special_function_rate);
  }
  return proto;
}

}  // namespace mansard::model
