#include "absl/status/status.h"
#include "calibrate/gpu.h"

namespace mansard::calibrate {

absl::StatusOr<std::vector<DeviceRecord>> ReadDevices() {
  return absl::FailedPreconditionError(
      "built without CUDA: no device to describe");
}

absl::StatusOr<ReadBandwidth> MeasureReadBandwidth(int /*device_index*/) {
  return absl::FailedPreconditionError(
      "built without CUDA: no device to measure");
}

}  // namespace mansard::calibrate
