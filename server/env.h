// What belongs to one server: nothing is global, a process may run several.
#pragma once

#include <atomic>
#include <memory>

#include "server/catalog/snapshot.h"
#include "server/log.h"
#include "server/metrics.h"

namespace mansard::server {

struct ServerEnv {
  Logger logger;
  std::shared_ptr<const Snapshot> snapshot;
  Metrics metrics;
  // False until started and while draining.
  std::atomic<bool> ready = false;

  ServerEnv(LogLevel level, std::shared_ptr<const Snapshot> catalog)
      : logger(level), snapshot(std::move(catalog)) {}
};

}  // namespace mansard::server
