// The device itself, as its record has it. Internal to calibrate/refresh.
#pragma once

#include "absl/status/statusor.h"
#include "calibrate/measure/record.h"
#include "model/hardware/device.h"

namespace mansard::calibrate {

// Rates and bandwidths are medians of bursts. Error: FAILED_PRECONDITION names
// the cases without which there is no device.
absl::StatusOr<model::Device> MeasuredDevice(const Record& record);

}  // namespace mansard::calibrate
