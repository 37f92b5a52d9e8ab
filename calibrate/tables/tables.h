// The measured tables that can be read, and which of them a file is.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

// The rows of a table whose columns say which it is. Error: none of ours, or
// its reader's.
absl::StatusOr<std::vector<MeasuredCase>> ReadMeasured(absl::string_view csv);

}  // namespace mansard::calibrate
