// Fetches what a program shows to Prometheus.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mansard::observe {

struct MetricsUrl {
  std::string host;
  int port = 80;
  std::string path = "/metrics";
};

// "http:", then "//host[:port][/path]"; a path of "/" or none is "/metrics". No
// TLS, no passwords. INVALID_ARGUMENT says what is wrong.
absl::StatusOr<MetricsUrl> ParseMetricsUrl(absl::string_view text);

// The page's body. UNAVAILABLE: nobody answers, or not in time; it says another
// status than 200, or more than 16 MiB.
absl::StatusOr<std::string> FetchMetrics(const MetricsUrl& url,
                                         absl::Duration timeout);

}  // namespace mansard::observe
