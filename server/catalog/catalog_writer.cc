#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/base/status_macros.h"
#include "server/catalog/catalog.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"

namespace mansard::server {
namespace {

bool NamesModel(const EngineEntry& engine, const std::string& id) {
  return engine.model_id == id;
}

bool NamesHardware(const EngineEntry& engine, const std::string& id) {
  return engine.hardware_id == id;
}

bool NamesNone(const EngineEntry& /*engine*/, const std::string& /*id*/) {
  return false;
}

template <class Entry>
const Entry* FindStored(const EntryMap<Entry>& entries, const std::string& id) {
  const auto found = entries.find(id);
  return found != entries.end() && found->second->stored ? found->second.get()
                                                         : nullptr;
}

template <class Entry>
int64_t StoredCount(const EntryMap<Entry>& entries) {
  return std::count_if(entries.begin(), entries.end(),
                       [](const auto& entry) { return entry.second->stored; });
}

template <class Entry>
std::string EtagIn(const Entry* entry) {
  return entry == nullptr ? "" : entry->proto.etag();
}

// Revisions of engines are not kept: none can be asked for.
constexpr int64_t kEngineRevisions = 1;

}  // namespace

CatalogWriter::CatalogWriter(Catalog& catalog)
    : catalog_(catalog), lock_(catalog.writers_), base_(catalog.state()) {
  const absl::Time clock =
      absl::FromUnixMicros(absl::ToUnixMicros(absl::Now()));
  now_ = std::max(clock, catalog.last_write_ + absl::Microseconds(1));
  catalog.last_write_ = now_;
}

absl::StatusOr<std::shared_ptr<CatalogState>> CatalogWriter::Next(
    std::shared_ptr<const Snapshot> snapshot, Named named,
    const std::string& id) const {
  auto next = std::make_shared<CatalogState>();
  next->snapshot = std::move(snapshot);
  next->engines = base_->engines;
  std::vector<std::string> broken;
  absl::Status first;
  for (auto& [engine_id, engine] : next->engines) {
    if (!named(*engine, id)) continue;
    const bool was_broken = engine->broken();
    engine = Refreshed(*engine, *next->snapshot);
    if (!engine->broken() || was_broken) continue;
    if (broken.empty()) first = engine->error;
    broken.push_back(ResourceName(kEngines, engine_id));
  }
  if (!broken.empty()) return EnginesWouldBreak(broken, first);
  return next;
}

absl::Status CatalogWriter::CheckWritable() const {
  if (!catalog_.options_.read_only) return absl::OkStatus();
  return ErrorBuilder(absl::StatusCode::kUnavailable, "STORE_READ_ONLY")
      .Message("The catalog was opened for reading only")
      .Build();
}

absl::Status CatalogWriter::CheckRoom(const StoredResource& resource,
                                      bool added, const char* what,
                                      int64_t stored, int64_t limit) const {
  if (added && stored >= limit) return CatalogFull(what, limit);
  const auto bytes = static_cast<int64_t>(resource.content.size());
  if (bytes <= limits().resource_bytes) return absl::OkStatus();
  return ErrorBuilder(absl::StatusCode::kInvalidArgument, "RESOURCE_TOO_LARGE")
      .Message(absl::StrCat("\"", resource.id, "\" has ", bytes,
                            " bytes; allowed: ", limits().resource_bytes))
      .Metadata("max_bytes", absl::StrCat(limits().resource_bytes))
      .Build();
}

absl::Status CatalogWriter::Keep(const StoredResource& resource,
                                 const std::string& expected_etag,
                                 int64_t revisions,
                                 std::shared_ptr<const CatalogState> state) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(store().Put(resource, expected_etag, revisions));
  catalog_.Exchange(std::move(state));
  base_ = catalog_.state();
  return absl::OkStatus();
}

absl::Status CatalogWriter::Put(const std::string& id,
                                const std::shared_ptr<const GraphEntry>& entry,
                                bool validate_only) {
  const GraphEntry* const current = FindStored(snapshot().graphs(), id);
  const StoredResource resource = ToStored(id, *entry);
  RETURN_IF_ERROR(CheckRoom(resource, current == nullptr, "model graphs",
                            StoredCount(snapshot().graphs()), limits().graphs));
  auto next = std::make_shared<Snapshot>(snapshot());
  next->Set(id, entry);
  ASSIGN_OR_RETURN(auto state, Next(std::move(next), NamesModel, id));
  if (validate_only) return absl::OkStatus();
  return Keep(resource, EtagIn(current), limits().revisions, std::move(state));
}

absl::Status CatalogWriter::Put(
    const std::string& id, const std::shared_ptr<const ProfileEntry>& entry,
    bool validate_only) {
  const ProfileEntry* const current = FindStored(snapshot().profiles(), id);
  const StoredResource resource = ToStored(id, *entry);
  RETURN_IF_ERROR(CheckRoom(resource, current == nullptr, "hardware profiles",
                            StoredCount(snapshot().profiles()),
                            limits().profiles));
  auto next = std::make_shared<Snapshot>(snapshot());
  next->Set(id, entry);
  ASSIGN_OR_RETURN(auto state, Next(std::move(next), NamesHardware, id));
  if (validate_only) return absl::OkStatus();
  return Keep(resource, EtagIn(current), limits().revisions, std::move(state));
}

absl::Status CatalogWriter::Put(const std::string& id,
                                const std::shared_ptr<const EngineEntry>& entry,
                                bool validate_only) {
  const auto found = base_->engines.find(id);
  const EngineEntry* const current =
      found == base_->engines.end() ? nullptr : found->second.get();
  const StoredResource resource = ToStored(id, *entry);
  RETURN_IF_ERROR(CheckRoom(resource, current == nullptr, "engines",
                            static_cast<int64_t>(base_->engines.size()),
                            limits().engines));
  ASSIGN_OR_RETURN(auto state, Next(base_->snapshot, NamesNone, id));
  state->engines[id] = entry;
  if (validate_only) return absl::OkStatus();
  return Keep(resource, EtagIn(current), kEngineRevisions, std::move(state));
}

absl::Status CatalogWriter::Remove(StoredKind kind, const std::string& id,
                                   const std::string& etag, bool remains,
                                   Named named,
                                   std::shared_ptr<const Snapshot> next) {
  std::vector<std::string> users;
  for (const auto& [engine_id, engine] : base_->engines) {
    if (named(*engine, id)) users.push_back(ResourceName(kEngines, engine_id));
  }
  if (!users.empty() && !remains) {
    return kind == StoredKind::kModelGraph
               ? InUse(kModelGraphType, ResourceName(kModelGraphs, id), users)
               : InUse(kHardwareProfileType,
                       ResourceName(kHardwareProfiles, id), users);
  }
  ASSIGN_OR_RETURN(auto state, Next(std::move(next), named, id));
  if (kind == StoredKind::kEngine) state->engines.erase(id);
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(store().Delete(kind, id, etag));
  catalog_.Exchange(std::move(state));
  base_ = catalog_.state();
  return absl::OkStatus();
}

absl::Status CatalogWriter::DeleteGraph(const std::string& id) {
  auto next = std::make_shared<Snapshot>(snapshot());
  next->Set(id, std::shared_ptr<const GraphEntry>());
  return Remove(
      StoredKind::kModelGraph, id, EtagIn(FindStored(snapshot().graphs(), id)),
      snapshot().GraphBeneath(id) != nullptr, NamesModel, std::move(next));
}

absl::Status CatalogWriter::DeleteProfile(const std::string& id) {
  auto next = std::make_shared<Snapshot>(snapshot());
  next->Set(id, std::shared_ptr<const ProfileEntry>());
  return Remove(StoredKind::kHardwareProfile, id,
                EtagIn(FindStored(snapshot().profiles(), id)),
                snapshot().ProfileBeneath(id) != nullptr, NamesHardware,
                std::move(next));
}

absl::Status CatalogWriter::DeleteEngine(const std::string& id) {
  const auto found = base_->engines.find(id);
  return Remove(
      StoredKind::kEngine, id,
      found == base_->engines.end() ? "" : found->second->proto.etag(),
      /*remains=*/false, NamesNone, base_->snapshot);
}

absl::Status CatalogWriter::PutAlone(const StoredResource& resource) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(CheckRoom(resource, /*added=*/false, "", 0, 0));
  return store().Put(resource, "", 1);
}

absl::Status CatalogWriter::DeleteAlone(const StoredResource& resource) {
  RETURN_IF_ERROR(CheckWritable());
  return store().Delete(resource.kind, resource.id, resource.etag);
}

}  // namespace mansard::server
