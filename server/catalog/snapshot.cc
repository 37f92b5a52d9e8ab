#include "server/catalog/snapshot.h"

#include <utility>

#include "model/base/status_macros.h"
#include "model/io/graph_io.h"
#include "server/catalog/errors.h"
#include "server/catalog/folder.h"

namespace mansard::server {
namespace {

template <class Map>
std::vector<std::string> Keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace

Snapshot::Snapshot(model::ShippedData data)
    : fabrics_(std::move(data.fabrics)) {
  for (auto& [id, graph] : data.graphs) {
    v1::ModelGraph proto = model::GraphToProto(*graph);
    graphs_.emplace(id, GraphEntry{std::move(graph), std::move(proto)});
  }
  for (auto& [id, profile] : data.profiles) {
    v1::HardwareProfile proto = model::ProfileToProto(*profile);
    profiles_.emplace(id, ProfileEntry{std::move(profile), std::move(proto)});
  }
}

absl::StatusOr<std::shared_ptr<const Snapshot>> Snapshot::Load(
    const std::string& folder) {
  ASSIGN_OR_RETURN(model::ShippedData data, model::LoadShippedData());
  if (!folder.empty()) RETURN_IF_ERROR(MergeFolder(folder, data));
  return std::shared_ptr<const Snapshot>(new Snapshot(std::move(data)));
}

absl::StatusOr<const GraphEntry*> Snapshot::FindGraph(
    const std::string& id) const {
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) return ModelGraphNotFound(id, Keys(graphs_));
  return &found->second;
}

absl::StatusOr<const ProfileEntry*> Snapshot::FindProfile(
    const std::string& id) const {
  const auto found = profiles_.find(id);
  if (found == profiles_.end()) {
    return HardwareProfileNotFound(id, Keys(profiles_));
  }
  return &found->second;
}

}  // namespace mansard::server
