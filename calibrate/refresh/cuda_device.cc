#include "calibrate/refresh/cuda_device.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/base/violations.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::Format;
using model::Provenance;
using model::ProvenanceKind;

struct NamedDevice {
  const char* name;  // As the driver has it.
  const char* hardware;
};
constexpr NamedDevice kDevices[] = {
    {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
    {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
    {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
    {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
    {"NVIDIA A10", "a10"},
    {"NVIDIA A30", "a30"},
    {"NVIDIA GeForce RTX 3090", "rtx-3090"},
    {"NVIDIA L4", "l4"},
    {"NVIDIA L40", "l40"},
    {"NVIDIA L40S", "l40s"},
    {"NVIDIA GeForce RTX 4090", "rtx-4090"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H100 PCIe", "h100-pcie"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA H800", "h800-sxm"},
    {"NVIDIA H20", "h20"},
    {"NVIDIA GH200 480GB", "gh200-96gb"},
    {"NVIDIA GH200 144G HBM3e", "gh200-144gb"},
    {"NVIDIA B200", "b200-sxm"},
    {"NVIDIA GB200", "gb200"},
    {"NVIDIA B300 SXM6 AC", "b300-sxm"},
    {"NVIDIA GB300", "gb300"},
    {"NVIDIA GeForce RTX 5090", "rtx-5090"},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
};

// Of a device that no shipped profile is of.
struct Generation {
  const char* compute_capability;
  const char* hardware;
};
constexpr Generation kGenerations[] = {
    {"8.0", "a100-sxm-80gb"}, {"8.6", "a10"},       {"8.9", "l40s"},
    {"9.0", "h100-sxm"},      {"10.0", "b200-sxm"}, {"10.3", "b300-sxm"},
    {"12.0", "rtx-5090"},
};

// One lane of the newest PCIe of these devices reaches less.
constexpr double kLeastNvlink = 70e9;

// The fastest burst of a kind and format; null where none was measured.
const CaseResult* Fastest(const Record& record, CaseKind kind, Format format) {
  const CaseResult* fastest = nullptr;
  double best = 0;
  for (const CaseResult& result : record.results) {
    if (result.outcome != Outcome::kMeasured || result.measured.sustained ||
        result.measured.kind != kind || result.measured.format != format) {
      continue;
    }
    const double work =
        std::max(result.run_operations, MovedBytes(result.measured));
    if (work / result.seconds.median <= best) continue;
    best = work / result.seconds.median;
    fastest = &result;
  }
  return fastest;
}

Provenance ProvenanceOf(const CaseResult& result, const Record& record) {
  return {ProvenanceKind::kMeasured,
          absl::StrFormat("%s: median of %d samples +-%.1f %%, %s",
                          CaseId(result.measured), result.seconds.count,
                          result.seconds.RelativeHalfWidth() * 100,
                          record.device.software),
          record.date};
}

model::Sourced<BytesPerSecond> Bandwidth(const CaseResult& result,
                                         const Record& record) {
  return {
      BytesPerSecond::Of(MovedBytes(result.measured) / result.seconds.median),
      ProvenanceOf(result, record)};
}

model::Sourced<model::FlopsPerSecond> Rate(const CaseResult& result,
                                           const Record& record) {
  return {
      model::FlopsPerSecond::Of(result.run_operations / result.seconds.median),
      ProvenanceOf(result, record)};
}

// What the driver says stands beside what was measured.
Provenance FromDriver(const Record& record) {
  return {ProvenanceKind::kMeasured, "what the driver says", record.date};
}

std::string NoteOf(const Record& record, const std::string& key) {
  const auto note = record.device.notes.find(key);
  return note == record.device.notes.end() ? "" : note->second;
}

absl::StatusOr<model::DeviceSpec> MeasuredSpec(const Record& record,
                                               model::DeviceSpec spec) {
  const CaseResult* const memory =
      Fastest(record, CaseKind::kRead, Format::kFp32);
  const CaseResult* const bf16 =
      Fastest(record, CaseKind::kGemm, Format::kBf16);
  if (memory == nullptr || bf16 == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        record.device.name, " has no shipped profile, and no measured case of",
        memory == nullptr ? " read" : "", bf16 == nullptr ? " gemm bf16" : "",
        ", which a device needs"));
  }
  const DeviceIdentity& identity = record.device;
  spec.multiprocessor_count = {static_cast<double>(identity.threads),
                               FromDriver(record)};
  spec.clock_hertz = {identity.clock_hertz, FromDriver(record)};
  spec.hbm = {{model::Bytes::Of(identity.memory_bytes), FromDriver(record)},
              Bandwidth(*memory, record)};
  spec.l2 = model::MemoryLevel{
      {model::Bytes::Of(identity.last_level_cache_bytes), FromDriver(record)},
      std::nullopt};
  spec.smem.reset();
  spec.board_power_watts.reset();
  spec.peak_rate_note = "rates are the fastest that were measured";
  spec.tensor_rates = {};
  for (const Format format : model::AllFormats()) {
    const CaseResult* const product = Fastest(record, CaseKind::kGemm, format);
    if (product == nullptr) continue;
    spec.tensor_rates[static_cast<size_t>(format)] = Rate(*product, record);
  }
  spec.vector_rates = {};
  if (const CaseResult* const vector =
          Fastest(record, CaseKind::kMultiplyAdd, Format::kFp32)) {
    spec.vector_rates[static_cast<size_t>(Format::kFp32)] =
        Rate(*vector, record);
  }
  spec.special_function_rate.reset();
  if (const CaseResult* const special =
          Fastest(record, CaseKind::kExponential, Format::kFp32)) {
    spec.special_function_rate = Rate(*special, record);
  }
  return spec;
}

// L2's rate where no datasheet has one: of what fits it.
void AddCacheBandwidth(const Record& record, model::DeviceSpec& spec) {
  if (!spec.l2.has_value() || spec.l2->bandwidth.has_value()) return;
  const CaseResult* fastest = nullptr;
  for (const CaseResult& result : record.results) {
    if (result.outcome != Outcome::kMeasured ||
        result.measured.kind != CaseKind::kCacheRead ||
        2 * static_cast<double>(result.measured.bytes) >
            record.device.last_level_cache_bytes) {
      continue;
    }
    // The largest that certainly fits: small ones sit in one part of it.
    if (fastest == nullptr || result.measured.bytes > fastest->measured.bytes) {
      fastest = &result;
    }
  }
  if (fastest != nullptr) spec.l2->bandwidth = Bandwidth(*fastest, record);
}

}  // namespace

absl::string_view HardwareOfDevice(absl::string_view device) {
  for (const NamedDevice& named : kDevices) {
    if (device == named.name) return named.hardware;
  }
  return "";
}

absl::string_view LinkOf(const Record& record) {
  const CaseResult* const copy =
      Fastest(record, CaseKind::kPeerCopy, Format::kFp32);
  if (copy == nullptr) return "";
  const double rate = MovedBytes(copy->measured) / copy->seconds.median;
  return rate >= kLeastNvlink ? "nvlink" : "pcie";
}

absl::StatusOr<model::HardwareProfile> CudaHardware(
    const Record& record, const model::ShippedData& data) {
  std::string hardware(HardwareOfDevice(record.device.name));
  const bool shipped = data.profiles.count(hardware) > 0;
  const std::string capability = NoteOf(record, "compute_capability");
  if (!shipped) {
    for (const Generation& generation : kGenerations) {
      if (capability == generation.compute_capability) {
        hardware = generation.hardware;
      }
    }
  }
  const auto profile = data.profiles.find(hardware);
  if (profile == data.profiles.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        record.device.name, ", compute capability \"", capability,
        "\": no shipped profile is of the device or its generation"));
  }
  model::DeviceSpec spec = profile->second->device().spec();
  if (!shipped) {
    ASSIGN_OR_RETURN(spec, MeasuredSpec(record, std::move(spec)));
  }
  AddCacheBandwidth(record, spec);
  model::Violations violations;
  std::optional<model::Device> device =
      model::Device::Create(std::move(spec), violations);
  if (!device.has_value()) return violations.ToStatus();
  std::optional<model::HardwareProfile> made = model::HardwareProfile::Create(
      "", absl::StrCat(record.device.name, ", calibrated ", record.date),
      *std::move(device), profile->second->fabrics(),
      {profile->second->stacks().front()}, violations);
  if (!made.has_value()) return violations.ToStatus();
  return *std::move(made);
}

}  // namespace mansard::calibrate
