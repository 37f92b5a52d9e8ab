// The devices at hand. Implemented by gpu_cuda.cu, or, in a build without
// CUDA, by gpu_none.cc.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/device_record.h"

namespace mansard::calibrate {

// What every visible device reports, without read_bandwidth. Fails with
// FAILED_PRECONDITION where there is none, and says why: built without CUDA, no
// usable driver, no device.
absl::StatusOr<std::vector<DeviceRecord>> ReadDevices();

// Reads device memory from end to end several times; index counts as in
// ReadDevices. Fails with RESOURCE_EXHAUSTED where too little memory is free to
// outgrow L2, with DATA_LOSS where a pass read wrong data, with INTERNAL where
// CUDA fails.
absl::StatusOr<ReadBandwidth> MeasureReadBandwidth(int device_index);

}  // namespace mansard::calibrate
