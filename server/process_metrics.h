// What Prometheus clients usually say about their process: process_*.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace mansard::server {

// Read from /proc now. A value that cannot be read is left out.
std::vector<prometheus::MetricFamily> ProcessMetrics();

}  // namespace mansard::server
