// Metrics of what a catalog holds.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/catalog/state.h"

namespace mansard::server {

struct CatalogMetrics {
  std::vector<prometheus::MetricFamily> families;
  // By family, the series that had no room. Profiles that engines name have it
  // first.
  std::map<std::string, int> left_out;
};

// Of a state that was made at `now`.
CatalogMetrics MetricsOf(const CatalogState& state, absl::Time now);

}  // namespace mansard::server
