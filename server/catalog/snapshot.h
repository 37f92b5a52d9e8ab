// The catalog at one moment. Immutable: a call takes one reference at the door
// and sees one state throughout.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/graph/model_graph.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/profile_io.h"
#include "model/io/shipped.h"

namespace mansard::server {

// A resource with its wire form, made once. `proto.revision_id` is its
// revision.
struct GraphEntry {
  std::shared_ptr<const model::ModelGraph> graph;
  v1::ModelGraph proto;
};
struct ProfileEntry {
  std::shared_ptr<const model::HardwareProfile> profile;
  v1::HardwareProfile proto;
};

class Snapshot {
 public:
  // The shipped data and, where `folder` is not empty, its files (see
  // MergeFolder for the errors).
  static absl::StatusOr<std::shared_ptr<const Snapshot>> Load(
      const std::string& folder);

  // By id, in order.
  const std::map<std::string, GraphEntry>& graphs() const { return graphs_; }
  const std::map<std::string, ProfileEntry>& profiles() const {
    return profiles_;
  }
  const model::FabricMap& fabrics() const { return fabrics_; }

  // NOT_FOUND with the closest ids. The pointer lives as long as the snapshot.
  absl::StatusOr<const GraphEntry*> FindGraph(const std::string& id) const;
  absl::StatusOr<const ProfileEntry*> FindProfile(const std::string& id) const;

 private:
  explicit Snapshot(model::ShippedData data);

  std::map<std::string, GraphEntry> graphs_;
  std::map<std::string, ProfileEntry> profiles_;
  model::FabricMap fabrics_;
};

}  // namespace mansard::server
