// What mansard-calibrate does with tables of served runs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mansard::calibrate {

// Whether every one of the files is such a table. Error: one cannot be read, or
// only some are: kernels and runs are fitted one after the other.
absl::StatusOr<bool> AreServingTables(const std::vector<std::string>& tables);

// Runs -> DIRECTORY/<hardware>.textproto.
absl::Status RunServedFit(const std::vector<std::string>& tables,
                          const std::string& directory);

// ServedReport to standard output.
absl::Status RunServedReport(const std::vector<std::string>& tables);

}  // namespace mansard::calibrate
