#include "calibrate/refresh/measured_device.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "model/base/violations.h"

namespace mansard::calibrate {
namespace {

using model::BytesPerSecond;
using model::FlopsPerSecond;
using model::Provenance;
using model::ProvenanceKind;

// The fastest burst of a kind whose buffer has a size within the bounds; null
// where none was measured.
const CaseResult* Find(const Record& record, CaseKind kind, int64_t least_bytes,
                       int64_t most_bytes) {
  const CaseResult* found = nullptr;
  double best = 0;
  for (const CaseResult& result : record.results) {
    const int64_t bytes = result.measured.bytes;
    if (result.outcome != Outcome::kMeasured || result.measured.sustained ||
        result.measured.kind != kind || bytes < least_bytes ||
        bytes > most_bytes) {
      continue;
    }
    const double work =
        std::max(result.run_operations, MovedBytes(result.measured));
    const double rate = work / result.seconds.median;
    if (rate <= best) continue;
    best = rate;
    found = &result;
  }
  return found;
}

// "read bytes=134217728: median of 12 samples, 95 % within 14.9 to 15.1 GB/s".
Provenance ProvenanceOf(const CaseResult& result, double work, const char* unit,
                        const Record& record) {
  return {
      ProvenanceKind::kMeasured,
      absl::StrFormat("%s: median of %d samples, 95 %% within %.4g to %.4g %s",
                      CaseId(result.measured), result.seconds.count,
                      work / result.seconds.high * 1e-9,
                      work / result.seconds.low * 1e-9, unit),
      record.date};
}

model::Sourced<BytesPerSecond> BandwidthOf(const CaseResult& result,
                                           const Record& record) {
  const double bytes = MovedBytes(result.measured);
  return {BytesPerSecond::Of(bytes / result.seconds.median),
          ProvenanceOf(result, bytes, "GB/s", record)};
}

Provenance FromSystem(const Record& record) {
  return {ProvenanceKind::kMeasured, "what the operating system says",
          record.date};
}

// "AMD EPYC" -> "AMD".
std::string VendorOf(const std::string& name) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(name, absl::ByAnyChar(" ("), absl::SkipEmpty());
  return words.empty() ? "unknown" : std::string(words.front());
}

model::DeviceSpec SpecOf(const Record& record, const CaseResult& peak,
                         const CaseResult& memory, const CaseResult& cache) {
  const DeviceIdentity& identity = record.device;
  model::DeviceSpec spec;
  spec.vendor = VendorOf(identity.name);
  const auto instructions = identity.notes.find("instruction_set");
  spec.architecture =
      instructions == identity.notes.end() ? "cpu" : instructions->second;
  spec.multiprocessor_count = {static_cast<double>(identity.threads),
                               {ProvenanceKind::kMeasured,
                                "threads that the cases ran on", record.date}};
  if (identity.clock_hertz > 0) {
    spec.clock_hertz = {identity.clock_hertz,
                        {ProvenanceKind::kMeasured,
                         "a chain of dependent multiplications", record.date}};
  }
  const model::Sourced<FlopsPerSecond> rate = {
      FlopsPerSecond::Of(peak.run_operations / peak.seconds.median),
      ProvenanceOf(peak, peak.run_operations, "GFLOP/s", record)};
  // Products run on the vector units.
  spec.tensor_rates[static_cast<size_t>(model::Format::kFp32)] = rate;
  spec.vector_rates[static_cast<size_t>(model::Format::kFp32)] = rate;
  // All caches as one level: its rate is the nearest one's, which no kernel
  // exceeds.
  spec.l2 = model::MemoryLevel{
      {model::Bytes::Of(identity.last_level_cache_bytes), FromSystem(record)},
      BandwidthOf(cache, record)};
  spec.hbm = {{model::Bytes::Of(identity.memory_bytes), FromSystem(record)},
              BandwidthOf(memory, record)};
  return spec;
}

}  // namespace

absl::StatusOr<model::Device> MeasuredDevice(const Record& record) {
  const int64_t cache_bytes =
      static_cast<int64_t>(record.device.last_level_cache_bytes);
  const CaseResult* const peak =
      Find(record, CaseKind::kMultiplyAdd, 0, INT64_MAX);
  const CaseResult* const memory =
      Find(record, CaseKind::kRead, 4 * cache_bytes, INT64_MAX);
  const CaseResult* const cache =
      Find(record, CaseKind::kRead, 1, cache_bytes / 4);
  if (peak == nullptr || memory == nullptr || cache == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no measured case of", peak == nullptr ? " multiply_add," : "",
        memory == nullptr ? " read beyond four times the cache," : "",
        cache == nullptr ? " read within a quarter of the cache," : "",
        " which a device needs"));
  }
  model::Violations violations;
  std::optional<model::Device> device =
      model::Device::Create(SpecOf(record, *peak, *memory, *cache), violations);
  if (!device.has_value()) return violations.ToStatus();
  return *std::move(device);
}

}  // namespace mansard::calibrate
