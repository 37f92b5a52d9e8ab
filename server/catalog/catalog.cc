#include "server/catalog/catalog.h"

#include <atomic>
#include <limits>
#include <thread>
#include <utility>

#include "model/base/status_macros.h"
#include "server/catalog/resource_name.h"
#include "server/store/sqlite_store.h"
#include "server/store/state_directory.h"

namespace mansard::server {
namespace {

// Stored resources read at a time: their contents are in memory twice.
constexpr int64_t kLoadPage = 256;

// Engines take tens of milliseconds each: all processors resolve them.
std::vector<std::shared_ptr<const EngineEntry>> ResolveAll(
    const std::vector<StoredResource>& stored, const Snapshot& snapshot) {
  std::vector<std::shared_ptr<const EngineEntry>> entries(stored.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < stored.size(); i = next++) {
      entries[i] = EngineFromStored(stored[i], snapshot);
    }
  };
  const size_t threads = std::min<size_t>(
      std::max(std::thread::hardware_concurrency(), 1u), stored.size());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  return entries;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Catalog>> Catalog::Open(
    const CatalogOptions& options) {
  auto catalog = std::unique_ptr<Catalog>(new Catalog(options));
  RETURN_IF_ERROR(catalog->OpenStore());
  RETURN_IF_ERROR(catalog->LoadStored());
  return catalog;
}

absl::StatusOr<std::unique_ptr<Catalog>> Catalog::OpenInMemory() {
  return Open({});
}

absl::Status Catalog::OpenStore() {
  const std::string& folder = options_.state_dir;
  if (folder.empty() || (options_.read_only && !HasDatabase(folder))) {
    ASSIGN_OR_RETURN(store_, SqliteStore::InMemory());
  } else if (options_.read_only) {
    ASSIGN_OR_RETURN(store_, SqliteStore::OpenReadOnly(folder));
  } else {
    ASSIGN_OR_RETURN(store_, SqliteStore::Open(folder));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StoredResource>> Catalog::All(StoredKind kind) {
  std::vector<StoredResource> all;
  while (true) {
    ASSIGN_OR_RETURN(
        std::vector<StoredResource> page,
        store_->List(kind, "", all.empty() ? "" : all.back().id, kLoadPage));
    const bool last = page.size() < kLoadPage;
    for (StoredResource& resource : page) all.push_back(std::move(resource));
    if (last) return all;
  }
}

absl::Status Catalog::LoadStored() {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> beneath,
                   Snapshot::Load(options_.catalog_dir));
  auto snapshot = std::make_shared<Snapshot>(*beneath);
  const auto note = [this](const std::string& name, const absl::Status& error) {
    if (!error.ok()) problems_.push_back({name, std::string(error.message())});
  };
  ASSIGN_OR_RETURN(const std::vector<StoredResource> graphs,
                   All(StoredKind::kModelGraph));
  for (const StoredResource& stored : graphs) {
    std::shared_ptr<const GraphEntry> entry = GraphFromStored(stored);
    note(ResourceName(kModelGraphs, stored.id), entry->error);
    snapshot->Set(stored.id, std::move(entry));
  }
  ASSIGN_OR_RETURN(const std::vector<StoredResource> profiles,
                   All(StoredKind::kHardwareProfile));
  for (const StoredResource& stored : profiles) {
    std::shared_ptr<const ProfileEntry> entry =
        ProfileFromStored(stored, snapshot->fabrics());
    note(ResourceName(kHardwareProfiles, stored.id), entry->error);
    snapshot->Set(stored.id, std::move(entry));
  }
  auto state = std::make_shared<CatalogState>();
  state->snapshot = std::move(snapshot);
  ASSIGN_OR_RETURN(const std::vector<StoredResource> engines,
                   All(StoredKind::kEngine));
  for (std::shared_ptr<const EngineEntry>& entry :
       ResolveAll(engines, *state->snapshot)) {
    note(ResourceName(kEngines, entry->id), entry->error);
    state->engines.emplace(entry->id, std::move(entry));
  }
  state_ = std::move(state);
  return absl::OkStatus();
}

std::shared_ptr<const CatalogState> Catalog::state() const {
  const std::lock_guard lock(pointer_);
  return state_;
}

void Catalog::Exchange(std::shared_ptr<const CatalogState> next) {
  const std::shared_ptr<const CatalogState> shown = next;
  {
    const std::lock_guard lock(pointer_);
    state_.swap(next);
  }
  previous_ = std::move(next);
  if (observer_) observer_(*shown);
}

}  // namespace mansard::server
