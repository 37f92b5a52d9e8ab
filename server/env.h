// What belongs to one server: nothing is global, a process may run several.
#pragma once

#include <atomic>
#include <memory>

#include "server/catalog/snapshot.h"
#include "server/handlers/targets.h"
#include "server/heavy_pool.h"
#include "server/log.h"
#include "server/metrics.h"

namespace mansard::server {

struct ServerEnv {
  Logger logger;
  std::shared_ptr<const Snapshot> snapshot;
  // Of this snapshot.
  TargetCache targets;
  Metrics metrics;
  // False until started and while draining.
  std::atomic<bool> ready = false;
  HeavyPool heavy_pool;

  ServerEnv(LogLevel level, std::shared_ptr<const Snapshot> catalog,
            int heavy_threads, int heavy_queue)
      : logger(level),
        snapshot(std::move(catalog)),
        heavy_pool(heavy_threads, heavy_queue) {}
};

}  // namespace mansard::server
