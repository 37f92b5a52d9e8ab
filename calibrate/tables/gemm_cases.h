// Measured matrix products: the table "gemm".
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// Of CSV text with the columns device, dtype_in, dtype_weight, dtype_out,
// quant, batch, m, n, k, latency_us, framework, framework_version, scope,
// source and flag, in any order and among others. A row is its product and,
// where its time holds it, the quantisation of its input before. in_target: n
// and k at least 512. size: FLOP.
absl::StatusOr<std::vector<MeasuredCase>> ReadGemmCases(absl::string_view csv);

}  // namespace mansard::calibrate
