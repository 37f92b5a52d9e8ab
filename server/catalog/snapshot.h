// Graphs, profiles and fabrics at one moment: what is stored, above what comes
// with the binary and from --catalog_dir. Immutable once it is shared; a change
// makes another snapshot, which shares all entries but one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/io/profile_io.h"
#include "model/io/shipped.h"
#include "server/catalog/entries.h"

namespace mansard::server {

// By id, in order.
template <class Entry>
using EntryMap = std::map<std::string, std::shared_ptr<const Entry>>;

template <class Map>
std::vector<std::string> KeysOf(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

class Snapshot {
 public:
  // The shipped data and, where `folder` is not empty, its files (see
  // MergeFolder for the errors).
  static absl::StatusOr<std::shared_ptr<const Snapshot>> Load(
      const std::string& folder);

  // Entries that cannot be read are there too.
  const EntryMap<GraphEntry>& graphs() const { return graphs_; }
  const EntryMap<ProfileEntry>& profiles() const { return profiles_; }
  const model::FabricMap& fabrics() const { return beneath_->fabrics; }

  // Readable ones. NOT_FOUND with the closest ids; FAILED_PRECONDITION
  // RESOURCE_BROKEN. The pointer lives as long as the snapshot.
  absl::StatusOr<const GraphEntry*> FindGraph(const std::string& id) const;
  absl::StatusOr<const ProfileEntry*> FindProfile(const std::string& id) const;

  // What lies beneath, also where something is stored above. Null: nothing.
  const GraphEntry* GraphBeneath(const std::string& id) const;
  const ProfileEntry* ProfileBeneath(const std::string& id) const;

  // For makers of a snapshot, before it is shared: an entry above what lies
  // beneath; null takes it away again.
  void Set(const std::string& id, std::shared_ptr<const GraphEntry> entry);
  void Set(const std::string& id, std::shared_ptr<const ProfileEntry> entry);

 private:
  struct Beneath {
    EntryMap<GraphEntry> graphs;
    EntryMap<ProfileEntry> profiles;
    model::FabricMap fabrics;
  };
  explicit Snapshot(model::ShippedData data);

  std::shared_ptr<const Beneath> beneath_;
  EntryMap<GraphEntry> graphs_;
  EntryMap<ProfileEntry> profiles_;
};

}  // namespace mansard::server
