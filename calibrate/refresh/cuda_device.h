// The hardware that a CUDA record is of. Internal to calibrate/refresh.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/measure/record.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

// The id of the shipped profile of a device that calls itself so; empty where
// there is none.
absl::string_view HardwareOfDevice(absl::string_view device);

// What links the devices of the record: "nvlink" or "pcie", by what the fastest
// copy between two of them reaches; empty where there is none.
absl::string_view LinkOf(const Record& record);

// The profile that fits start from: that of the device, where it is shipped,
// with the L2 bandwidth that was measured where the datasheets give none.
// Otherwise that of the generation, with what was measured in the place of all
// of its rates. Without an id. Error: FAILED_PRECONDITION, no generation of
// ours has the compute capability, or a case is missing without which there is
// no device.
absl::StatusOr<model::HardwareProfile> CudaHardware(
    const Record& record, const model::ShippedData& data);

}  // namespace mansard::calibrate
