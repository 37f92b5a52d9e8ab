// GET /metrics, /healthz and /readyz over HTTP.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/env.h"
#include "server/listen_address.h"

namespace mansard::server {

// /healthz: 200 while the process lives. /readyz: 200 when calls are welcome,
// 503 before and while draining.
class MetricsHttp {
 public:
  // `env` outlives the server. UNAVAILABLE when the port is taken.
  static absl::StatusOr<std::unique_ptr<MetricsHttp>> Start(
      const ListenAddress& address, const ServerEnv& env);
  ~MetricsHttp();

  int port() const;

 private:
  class Pages;
  explicit MetricsHttp(std::unique_ptr<Pages> pages);
  std::unique_ptr<Pages> pages_;
};

}  // namespace mansard::server
