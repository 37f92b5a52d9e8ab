// Measured element-wise kernels: the table "elementwise_norm".
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"
#include "model/hardware/fine_families.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, op, dtype_in, dtype_out, rows, cols,
// latency_us, framework, framework_version and source. A slice is an op in its
// format, "rmsnorm fp16"; ops that no step has are not answered. Programs run
// such kernels over and over on the same tensors. size: bytes of one operand.
absl::StatusOr<std::vector<MeasuredCase>> ReadElementwiseCases(
    absl::string_view csv);

// What a slice is; empty where the engine has no finer family for it.
std::optional<model::ElementwiseUse> UseOfSlice(absl::string_view slice);

}  // namespace mansard::calibrate
