// What the commands share. Internal to calibrate/refresh.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "calibrate/refresh/fit_profile.h"

namespace mansard::calibrate {

// "2026-11-30", in UTC.
std::string Today();

// The name is taken only once all is written: a reader never sees half of it.
absl::Status WriteWhole(const std::string& path, const std::string& text);

// With all folders above it; one that is there is left as it is.
absl::Status MakeFolder(const std::string& path);

// To standard output.
void PrintFits(const RefreshedProfile& refreshed);

}  // namespace mansard::calibrate
