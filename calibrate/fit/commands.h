// What mansard-calibrate fit does.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "calibrate/fit/fit_stacks.h"

namespace mansard::calibrate {

// Rows that a gate of sanity.h names, what speaks against them and what the fit
// did with them.
inline constexpr char kSuspectsFile[] = "suspect_rows.tsv";

// Tables of measured kernels -> DIRECTORY/<hardware>.textproto and
// DIRECTORY/suspect_rows.tsv, one line a fit to standard output. The options'
// date is today's.
absl::Status RunFit(const std::vector<std::string>& tables,
                    const std::string& directory, FitStacksOptions options);

}  // namespace mansard::calibrate
