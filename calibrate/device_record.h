// What a device reports about itself, and how that is written down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// One pass over device memory, timed several times.
struct ReadBandwidth {
  double median_bytes_per_second = 0;
  // Half the distance of the quartiles, relative to the median.
  double relative_spread = 0;
  int repeat_count = 0;
  int64_t buffer_bytes = 0;
};

struct DeviceRecord {
  std::string name;  // As the driver spells it.
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  int multiprocessor_count = 0;
  double clock_hertz = 0;  // The highest; not that of the moment.
  int64_t smem_bytes_per_multiprocessor = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  // Zero where the driver does not say.
  double memory_clock_hertz = 0;
  int memory_bus_bits = 0;
  // Of the driver: 13000 is CUDA 13.0.
  int cuda_version = 0;
  std::optional<ReadBandwidth> read_bandwidth;
};

// The record as a mansard.v1.Device in text format: the part of a hardware
// profile that a device knows about itself. Peak rates are no such part, so the
// fragment is not yet a valid device. What the driver says is KIND_MEASURED,
// what follows from that KIND_DERIVED. The measured read bandwidth is a
// comment: a Device holds peaks. observe_date: "2026-08-22".
std::string ToTextproto(const DeviceRecord& record,
                        absl::string_view observe_date);

}  // namespace mansard::calibrate
