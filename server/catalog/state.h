// All that answers depend on, at one moment: a call takes one reference to it
// at the door and sees one state throughout.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/catalog/engine_entry.h"
#include "server/catalog/snapshot.h"
#include "server/handlers/targets.h"

namespace mansard::server {

struct CatalogState {
  std::shared_ptr<const Snapshot> snapshot;
  // Broken ones are there too.
  EntryMap<EngineEntry> engines = {};
  // Of this snapshot. Thread-safe.
  mutable TargetCache targets = {};

  // One that is not broken. NOT_FOUND ENGINE_NOT_FOUND with the closest ids;
  // FAILED_PRECONDITION ENGINE_BROKEN with the reason. As long as the state.
  absl::StatusOr<const EngineEntry*> FindEngine(const std::string& id) const;
};

}  // namespace mansard::server
