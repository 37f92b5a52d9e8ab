// Measured matrix products, as a table of them reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"
#include "model/base/units.h"

namespace mansard::calibrate {

struct GemmRow {
  std::string device;
  std::string input_format;
  std::string weight_format;
  std::string output_format;
  std::string quantization;
  std::string framework;
  std::string version;
  std::string scope;
  std::string source;  // "owner/name@commit:path".
  std::string flag;    // Not empty: something is known against the row.
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  model::Seconds time;
};

// Of CSV text with the columns device, dtype_in, dtype_weight, dtype_out,
// quant, batch, m, n, k, latency_us, framework, framework_version, scope,
// source and flag, in any order and among others. Rows without a positive shape
// and time are left out. Error: a column is missing, or a row has another
// number of cells than the header.
absl::StatusOr<std::vector<GemmRow>> ReadGemmRows(absl::string_view csv);

}  // namespace mansard::calibrate
