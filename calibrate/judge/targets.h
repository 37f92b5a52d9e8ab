// What accuracy is aimed at, by what is measured.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// Of the rows in_target of a group.
struct Target {
  double error = 0;        // Fraction of the measured time, at most.
  bool of_median = false;  // Else of the mean.
};

// Empty where nothing is aimed at.
std::optional<Target> TargetFor(absl::string_view table,
                                absl::string_view device,
                                absl::string_view slice);

}  // namespace mansard::calibrate
