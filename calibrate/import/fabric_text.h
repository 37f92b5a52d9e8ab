// A fragment of a fabric, as text.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// Rates of one test in bytes per second. Not empty.
struct MeasuredRates {
  std::string test;
  std::vector<double> rates;
};

// "2 of host_to_device_memcpy_ce: median 54.9, 54.8 to 55.1 GB/s".
std::string RatesText(const MeasuredRates& measured);

// Of a tier: the median of the rates of a test.
struct MeasuredLink {
  std::string tier;
  const MeasuredRates* device = nullptr;
  const MeasuredRates* pair = nullptr;  // Where a pair has less.
  int domain_devices = 0;               // 0: not known, or no limit.
};

// The text of a mansard.v1.Fabric with these links, nearest first, with
// provenance. `tool`: name and version. `comments`: lines of its head.
std::string FabricText(const std::vector<MeasuredLink>& links,
                       absl::string_view tool, absl::string_view date,
                       const std::vector<std::string>& comments);

}  // namespace mansard::calibrate
