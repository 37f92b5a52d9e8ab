// The metrics of one launch in Nsight Compute -> time, work, bytes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "calibrate/import/kernels.h"

namespace mansard::calibrate {

// By the tool's names, in seconds, bytes, instructions, cycles.
using NcuMetrics = std::map<std::string, double>;

// What a number in `unit` ("usecond", "Mbyte", "inst/cycle") is multiplied
// with; empty where the unit is not known.
std::optional<double> NcuUnitFactor(absl::string_view unit);

// Whether CountsOf reads it: only their units must be known.
bool IsNcuMetricRead(absl::string_view metric);

struct NcuLaunch {
  KernelCounts counts;
  std::string tensor_format;   // Of the most operations.
  bool l2_is_traffic = false;  // All of L2's, not what is read from it.
  bool counts_pipe = false;    // Tensor work by instructions, taken as fp16.
};
NcuLaunch LaunchOf(const NcuMetrics& metrics);

}  // namespace mansard::calibrate
