// The text format in which programs show their metrics to Prometheus.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::observe {

// One line: a series at the time of the page. Histograms are their series
// (name_bucket, name_sum, name_count).
struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;  // May be infinite or NaN.
};

// All samples of a page, in order. Comments and timestamps are dropped.
// INVALID_ARGUMENT with the number of the first line that is none.
absl::StatusOr<std::vector<Sample>> ParseMetrics(absl::string_view page);

}  // namespace mansard::observe
