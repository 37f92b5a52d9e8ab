// Numbers as devices store them, read back for checks.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/cuda/gpu.h"
#include "model/base/format.h"

namespace mansard::calibrate {

// Bytes of `count` numbers without scales; of four bits two share one.
int64_t StoredBytes(model::Format format, int64_t count);

// Numbers that lie one after the other, from the lowest bits on. Formats of 32
// bits and less without scales of their own: fp32, bf16, fp16, fp8-e4m3, int8,
// nvfp4 (with scales of 1).
std::vector<double> Decode(model::Format format,
                           const std::vector<uint8_t>& stored, int64_t count);

// `count` numbers from number `first` of a buffer in device memory on.
absl::StatusOr<std::vector<double>> ReadNumbers(Gpu& gpu, const void* from,
                                                model::Format format,
                                                int64_t first, int64_t count);

// DATA_LOSS unless the value is within `tolerance` of the reference. A NaN is
// never near.
absl::Status CheckNear(absl::string_view place, double value, double reference,
                       double tolerance);

// What a result in bf16 or fp16 may be off: half a step of its own, and a share
// of `size`, the sum of the magnitudes that were added up.
double ToleranceOf(double reference, double size, double share);

// Places to check, the same for everybody.
class CheckedPlaces {
 public:
  static constexpr int kCount = 16;
  int64_t Below(int64_t count);

 private:
  uint64_t state_ = 0x5eed;
};

}  // namespace mansard::calibrate
