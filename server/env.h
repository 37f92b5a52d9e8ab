// What belongs to one server: nothing is global, a process may run several.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "server/catalog/catalog.h"
#include "server/heavy_pool.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/open_streams.h"
#include "server/request_id.h"

namespace mansard::server {

struct ServerEnv {
  Logger logger;
  std::unique_ptr<Catalog> catalog;
  Metrics metrics;
  RequestIds request_ids;
  // False until started and while draining.
  std::atomic<bool> ready = false;
  HeavyPool heavy_pool;
  OpenStreams streams;

  ServerEnv(LogLevel level, std::unique_ptr<Catalog> opened, int heavy_threads,
            int heavy_queue, const std::string& commit = "unknown")
      : logger(level),
        catalog(std::move(opened)),
        metrics(commit),
        heavy_pool(heavy_threads, heavy_queue) {
    catalog->OnChange(
        [this](const CatalogState& state) { metrics.SetCatalog(state); });
    metrics.SetCatalog(*catalog->state());
  }
};

}  // namespace mansard::server
