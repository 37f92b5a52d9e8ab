// Graphs and profiles as the catalog holds them: with their wire form, made
// once. Immutable and shared by all snapshots that have them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/graph/model_graph.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/profile_io.h"
#include "server/store/store.h"

namespace mansard::server {

struct GraphEntry {
  // Null: stored, but not readable for this version, as `error` says.
  std::shared_ptr<const model::ModelGraph> graph;
  // As Get answers. `proto.revision_id` is its revision.
  v1::ModelGraph proto;
  // False: comes with the binary or from --catalog_dir.
  bool stored = false;
  absl::Status error = absl::OkStatus();
  size_t bytes = 0;  // Of `proto`.
};
struct ProfileEntry {
  std::shared_ptr<const model::HardwareProfile> profile;
  v1::HardwareProfile proto;
  bool stored = false;
  absl::Status error = absl::OkStatus();
  size_t bytes = 0;
};

// Of what lies beneath.
std::shared_ptr<const GraphEntry> EntryBeneath(
    std::shared_ptr<const model::ModelGraph> graph);
std::shared_ptr<const ProfileEntry> EntryBeneath(
    std::shared_ptr<const model::HardwareProfile> profile);

// What `said` makes at `now`; `current` is what it takes the place of, or null.
// What callers cannot set is not looked at. INVALID_ARGUMENT where it breaks
// rules.
absl::StatusOr<std::shared_ptr<const GraphEntry>> MakeEntry(
    const std::string& id, v1::ModelGraph said, const GraphEntry* current,
    absl::Time now, model::Violations& violations);
// `said.calibrate_time` is taken over.
absl::StatusOr<std::shared_ptr<const ProfileEntry>> MakeEntry(
    const std::string& id, v1::HardwareProfile said,
    const ProfileEntry* current, absl::Time now,
    const model::FabricMap& fabrics, model::Violations& violations);

// To and from what is stored. What cannot be read is an entry with its error.
StoredResource ToStored(const std::string& id, const GraphEntry& entry);
StoredResource ToStored(const std::string& id, const ProfileEntry& entry);
std::shared_ptr<const GraphEntry> GraphFromStored(
    const StoredResource& resource);
std::shared_ptr<const ProfileEntry> ProfileFromStored(
    const StoredResource& resource, const model::FabricMap& fabrics);

// Drops what callers cannot set, but for a profile's calibrate_time.
void ClearOutputOnly(v1::ModelGraph& proto);
void ClearOutputOnly(v1::HardwareProfile& proto);

google::protobuf::Timestamp ToProto(absl::Time time);
absl::Time FromProto(const google::protobuf::Timestamp& time);
// Its deterministic serialization.
std::string BytesOf(const google::protobuf::MessageLite& message);
// Strong and quoted: of all that a revision shows.
std::string EtagOf(const v1::ModelGraph& proto);
std::string EtagOf(const v1::HardwareProfile& proto);
std::string EtagOfBytes(absl::string_view bytes);

}  // namespace mansard::server
