// A record and its profile as what a server keeps of a calibration.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/measure/record.h"
#include "mansard/v1/catalog.pb.h"

namespace mansard::calibrate {

// The text of a mansard.v1.Calibration: every case with its outcome, and the
// profile's first stack as the fitted one. The device's own numbers are no part
// of it; `mansard hardware apply` takes the whole profile. Error:
// INVALID_ARGUMENT where the profile has no stack.
absl::StatusOr<std::string> CalibrationText(const Record& record,
                                            const v1::HardwareProfile& profile);

inline constexpr char kCalibrationFile[] = "calibration.textproto";

// DIRECTORY/calibration.textproto of the record and the profile there. Error:
// of a file that is missing, is none, or cannot be written.
absl::Status WriteCalibration(const std::string& directory,
                              const std::string& record_file,
                              const std::string& profile_file);

}  // namespace mansard::calibrate
