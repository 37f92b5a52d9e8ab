#include "server/catalog/snapshot.h"

#include <utility>

#include "model/base/status_macros.h"
#include "server/catalog/errors.h"
#include "server/catalog/folder.h"
#include "server/catalog/resource_name.h"

namespace mansard::server {
namespace {

template <class Entry>
const Entry* FindIn(const EntryMap<Entry>& entries, const std::string& id) {
  const auto found = entries.find(id);
  return found == entries.end() ? nullptr : found->second.get();
}

template <class Entry>
void SetIn(const std::string& id, std::shared_ptr<const Entry> entry,
           const EntryMap<Entry>& beneath, EntryMap<Entry>& entries) {
  if (entry == nullptr) {
    const auto below = beneath.find(id);
    if (below == beneath.end()) {
      entries.erase(id);
      return;
    }
    entry = below->second;
  }
  entries[id] = std::move(entry);
}

}  // namespace

Snapshot::Snapshot(model::ShippedData data) {
  auto beneath = std::make_shared<Beneath>();
  beneath->fabrics = std::move(data.fabrics);
  for (auto& [id, graph] : data.graphs) {
    beneath->graphs.emplace(id, EntryBeneath(std::move(graph)));
  }
  for (auto& [id, profile] : data.profiles) {
    beneath->profiles.emplace(id, EntryBeneath(std::move(profile)));
  }
  graphs_ = beneath->graphs;
  profiles_ = beneath->profiles;
  beneath_ = std::move(beneath);
}

absl::StatusOr<std::shared_ptr<const Snapshot>> Snapshot::Load(
    const std::string& folder) {
  ASSIGN_OR_RETURN(model::ShippedData data, model::LoadShippedData());
  if (!folder.empty()) RETURN_IF_ERROR(MergeFolder(folder, data));
  return std::shared_ptr<const Snapshot>(new Snapshot(std::move(data)));
}

absl::StatusOr<const GraphEntry*> Snapshot::FindGraph(
    const std::string& id) const {
  const GraphEntry* const entry = FindIn(graphs_, id);
  if (entry == nullptr) return ModelGraphNotFound(id, KeysOf(graphs_));
  if (entry->graph == nullptr) {
    return Broken(ResourceName(kModelGraphs, id), entry->error);
  }
  return entry;
}

absl::StatusOr<const ProfileEntry*> Snapshot::FindProfile(
    const std::string& id) const {
  const ProfileEntry* const entry = FindIn(profiles_, id);
  if (entry == nullptr) return HardwareProfileNotFound(id, KeysOf(profiles_));
  if (entry->profile == nullptr) {
    return Broken(ResourceName(kHardwareProfiles, id), entry->error);
  }
  return entry;
}

const GraphEntry* Snapshot::GraphBeneath(const std::string& id) const {
  return FindIn(beneath_->graphs, id);
}

const ProfileEntry* Snapshot::ProfileBeneath(const std::string& id) const {
  return FindIn(beneath_->profiles, id);
}

void Snapshot::Set(const std::string& id,
                   std::shared_ptr<const GraphEntry> entry) {
  SetIn(id, std::move(entry), beneath_->graphs, graphs_);
}

void Snapshot::Set(const std::string& id,
                   std::shared_ptr<const ProfileEntry> entry) {
  SetIn(id, std::move(entry), beneath_->profiles, profiles_);
}

}  // namespace mansard::server
