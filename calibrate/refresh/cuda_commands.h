// What mansard-calibrate run and prove do with --backend=cuda. Internal to
// calibrate/refresh.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "calibrate/measure/record.h"
#include "calibrate/refresh/run_options.h"

namespace mansard::calibrate {

// Measures the first visible device, adding to the record where there is one,
// and writes the profile that follows from it. Error: FAILED_PRECONDITION, no
// device to measure, with all that is waived for it.
absl::Status RunCudaCalibration(const RunOptions& options);

// Measures, without a directory from the start, fits part of the shapes and
// judges on the others. Error: as above; FAILED_PRECONDITION where a prediction
// is off.
absl::Status RunCudaProof(const RunOptions& options);

// Why nothing can be measured, and what is waived, by reason. `missing`: of
// libraries.
std::string NoDeviceText(const std::string& reason,
                         const std::vector<std::string>& missing);

// "12 gemm: no kernel ..." for every reason that cases were not measured for.
std::vector<std::string> WaivedCases(const Record& record);

}  // namespace mansard::calibrate
