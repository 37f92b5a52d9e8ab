// What the catalog keeps beyond the process: resources with their revisions.
// Knows no resource: contents are bytes with names.
//
// Errors of every method, beside those that it names: UNAVAILABLE STORE_FULL,
// STORE_READ_ONLY, STORE_BUSY and STORE_FAILED (the disk), INTERNAL
// STORE_CORRUPT. A write that fails has changed nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mansard::server {

enum class StoredKind { kModelGraph, kHardwareProfile, kEngine, kCalibration };
inline constexpr int kStoredKindCount = 4;
// "model_graph", "hardware_profile", "engine", "calibration".
const char* StoredKindName(StoredKind kind);

struct StoredResource {
  StoredKind kind = StoredKind::kModelGraph;
  // Of a calibration with its profile's: "h100-sxm/2026-11-30".
  std::string id = "";
  std::string revision_id = "";
  std::string etag = "";
  // Whole microseconds.
  absl::Time create_time = absl::UnixEpoch();
  absl::Time update_time = absl::UnixEpoch();
  std::string content = "";
  // Of the request that made it, where that had an id: so that it can be
  // repeated. The hash is of all that it said.
  std::string request_id = "";
  std::string request_hash = "";
};

struct StoredRevision {
  int64_t number = 0;  // Ascending in time.
  std::string revision_id;
  absl::Time create_time;
  std::string content;
};

// Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  // In order of id, those after `after` whose id starts with `prefix`.
  virtual absl::StatusOr<std::vector<StoredResource>> List(
      StoredKind kind, absl::string_view prefix, absl::string_view after,
      int64_t limit) = 0;
  // Empty: not there.
  virtual absl::StatusOr<std::optional<StoredResource>> Find(
      StoredKind kind, absl::string_view id) = 0;
  virtual absl::StatusOr<std::optional<StoredResource>> FindByRequest(
      absl::string_view request_id) = 0;
  virtual absl::StatusOr<int64_t> Count(StoredKind kind,
                                        absl::string_view prefix) = 0;

  // Newest first, those with a number below `before`.
  virtual absl::StatusOr<std::vector<StoredRevision>> Revisions(
      StoredKind kind, absl::string_view id, int64_t before, int64_t limit) = 0;
  // The newest with that id. Empty: not there, or no longer.
  virtual absl::StatusOr<std::optional<StoredRevision>> FindRevision(
      StoredKind kind, absl::string_view id, absl::string_view revision_id) = 0;

  // Makes `resource` the newest revision; keeps `revisions_kept` of them, the
  // newest. It is on disk when this returns. ABORTED STORE_CHANGED where the
  // current etag is not `expected_etag` (empty: there must be none).
  virtual absl::Status Put(const StoredResource& resource,
                           absl::string_view expected_etag,
                           int64_t revisions_kept) = 0;
  // With its revisions, and all resources below it ("{id}/..."). ABORTED
  // STORE_CHANGED as above.
  virtual absl::Status Delete(StoredKind kind, absl::string_view id,
                              absl::string_view expected_etag) = 0;
};

}  // namespace mansard::server
