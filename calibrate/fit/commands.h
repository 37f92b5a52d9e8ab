// The commands of mansard-calibrate that need no device.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/fit/validate.h"

namespace mansard::calibrate {

// Fits what the tables hold; writes DIR/<hardware>.textproto for each device,
// as model/data/stacks has them, and prints a line a fit. DIR exists. Error: a
// table that does not read, a file that does not open, a fit's.
absl::Status RunFit(const std::vector<std::string>& tables,
                    const std::string& directory);

// The judgements, as a table or JSON ("table", "json").
absl::StatusOr<std::string> RunValidate(const std::vector<std::string>& tables,
                                        const ValidateOptions& options,
                                        const std::string& output);

}  // namespace mansard::calibrate
