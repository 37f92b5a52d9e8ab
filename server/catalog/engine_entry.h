// Engines as the catalog holds them. How an engine is resolved is known here
// alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mansard/v1/engine.pb.h"
#include "model/base/violations.h"
#include "model/serving/observations.h"
#include "model/serving/serving_engine.h"
#include "server/catalog/snapshot.h"
#include "server/handlers/targets.h"
#include "server/store/store.h"

namespace mansard::server {

// Immutable, but for handles of metrics; shared by all states that have it.
struct EngineEntry {
  std::string id;
  // As Get answers. Of a broken engine: what was stored, without outputs.
  v1::Engine proto;
  // Ids that it names. Empty where it is not readable.
  std::string model_id;
  std::string hardware_id;

  // Null: broken, and `error` says why. Of the newest revisions of both.
  std::shared_ptr<const ResolvedTarget> resolved;
  // Null where `resolved` is.
  std::shared_ptr<const model::ServingEngine> engine;
  // Whether passes of decodes are looked up in its curves.
  bool has_curves = false;
  // Of its observations; their factors apply where the engine says so.
  model::ObservedFactors observed = {};
  absl::Status error = absl::OkStatus();

  bool broken() const { return resolved == nullptr; }
  // "engines/prod-a@1a2b3c4d5e6f".
  std::string Revision() const;
};

// What `said` makes at `now`, on the snapshot; `current` is what it takes the
// place of, or null. What callers cannot set is not looked at. Violations are
// relative to the engine ("target.model_graph", "limits.max_sequence_count")
// and come first; then NOT_FOUND and FAILED_PRECONDITION as of any target.
absl::StatusOr<std::shared_ptr<const EngineEntry>> MakeEntry(
    const Snapshot& snapshot, const std::string& id, v1::Engine said,
    const EngineEntry* current, absl::Time now, model::Violations& violations);

inline constexpr int kMaxObservations = 64;
// Precondition: not broken. `current` with further observations, after its own
// or instead of them; the newest kMaxObservations stay.
absl::StatusOr<std::shared_ptr<const EngineEntry>> MakeObserved(
    const Snapshot& snapshot, const EngineEntry& current,
    const google::protobuf::RepeatedPtrField<v1::Observation>& observations,
    bool replace_all, absl::Time now);

// The same engine on another snapshot; broken where it cannot be resolved.
std::shared_ptr<const EngineEntry> Refreshed(const EngineEntry& entry,
                                             const Snapshot& snapshot);

StoredResource ToStored(const std::string& id, const EngineEntry& entry);
std::shared_ptr<const EngineEntry> EngineFromStored(
    const StoredResource& resource, const Snapshot& snapshot);

// Drops what callers cannot set.
void ClearOutputOnly(v1::Engine& proto);

}  // namespace mansard::server
