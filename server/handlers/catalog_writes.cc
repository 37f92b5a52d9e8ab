#include "server/handlers/catalog_writes.h"

#include <memory>
#include <utility>

#include "server/handlers/resource_writes.h"

namespace mansard::server {
namespace {

template <class Entry>
const Entry* FindIn(const EntryMap<Entry>& entries, const std::string& id) {
  const auto found = entries.find(id);
  return found == entries.end() ? nullptr : found->second.get();
}

struct GraphKind {
  using Proto = v1::ModelGraph;
  using Entry = GraphEntry;
  static constexpr const char* kCollection = kModelGraphs;
  static constexpr const char* kField = "model_graph";
  static constexpr const char* kType = kModelGraphType;
  static constexpr bool kBrokenIsWhole = false;

  static const Entry* Find(const CatalogState& state, const std::string& id) {
    return FindIn(state.snapshot->graphs(), id);
  }
  static absl::Status NotFound(const CatalogState& state,
                               const std::string& id) {
    return ModelGraphNotFound(id, KeysOf(state.snapshot->graphs()));
  }
  static absl::StatusOr<std::shared_ptr<const Entry>> Make(
      const CatalogWriter& writer, const std::string& id, const Proto& said,
      const Entry* current, model::Violations& violations) {
    return MakeEntry(id, said, current, writer.now(), violations);
  }
  static absl::Status Delete(CatalogWriter& writer, const std::string& id) {
    if (!Find(writer.base(), id)->stored) {
      return ReadOnly(kType, ResourceName(kCollection, id));
    }
    return writer.DeleteGraph(id);
  }
};

struct ProfileKind {
  using Proto = v1::HardwareProfile;
  using Entry = ProfileEntry;
  static constexpr const char* kCollection = kHardwareProfiles;
  static constexpr const char* kField = "hardware_profile";
  static constexpr const char* kType = kHardwareProfileType;
  static constexpr bool kBrokenIsWhole = false;

  static const Entry* Find(const CatalogState& state, const std::string& id) {
    return FindIn(state.snapshot->profiles(), id);
  }
  static absl::Status NotFound(const CatalogState& state,
                               const std::string& id) {
    return HardwareProfileNotFound(id, KeysOf(state.snapshot->profiles()));
  }
  // Calibrations alone say when there was one.
  static absl::StatusOr<std::shared_ptr<const Entry>> Make(
      const CatalogWriter& writer, const std::string& id, Proto said,
      const Entry* current, model::Violations& violations) {
    said.clear_calibrate_time();
    if (current != nullptr && current->proto.has_calibrate_time()) {
      *said.mutable_calibrate_time() = current->proto.calibrate_time();
    }
    return MakeEntry(id, std::move(said), current, writer.now(),
                     writer.snapshot().fabrics(), violations);
  }
  static absl::Status Delete(CatalogWriter& writer, const std::string& id) {
    if (!Find(writer.base(), id)->stored) {
      return ReadOnly(kType, ResourceName(kCollection, id));
    }
    return writer.DeleteProfile(id);
  }
};

}  // namespace

absl::Status CreateModelGraph(CallContext& call,
                              const v1::CreateModelGraphRequest& request,
                              v1::ModelGraph& response) {
  return Create<GraphKind>(
      call, request.model_graph_id(),
      request.has_model_graph() ? &request.model_graph() : nullptr,
      request.validate_only(), response);
}

absl::Status UpdateModelGraph(CallContext& call,
                              const v1::UpdateModelGraphRequest& request,
                              v1::ModelGraph& response) {
  return Update<GraphKind>(
      call, request.has_model_graph() ? &request.model_graph() : nullptr,
      request.update_mask(), request.allow_missing(), request.validate_only(),
      response);
}

absl::Status DeleteModelGraph(CallContext& call,
                              const v1::DeleteModelGraphRequest& request,
                              google::protobuf::Empty& /*response*/) {
  return Delete<GraphKind>(call, request.name(), request.etag());
}

absl::Status CreateHardwareProfile(
    CallContext& call, const v1::CreateHardwareProfileRequest& request,
    v1::HardwareProfile& response) {
  return Create<ProfileKind>(
      call, request.hardware_profile_id(),
      request.has_hardware_profile() ? &request.hardware_profile() : nullptr,
      request.validate_only(), response);
}

absl::Status UpdateHardwareProfile(
    CallContext& call, const v1::UpdateHardwareProfileRequest& request,
    v1::HardwareProfile& response) {
  return Update<ProfileKind>(
      call,
      request.has_hardware_profile() ? &request.hardware_profile() : nullptr,
      request.update_mask(), request.allow_missing(), request.validate_only(),
      response);
}

absl::Status DeleteHardwareProfile(
    CallContext& call, const v1::DeleteHardwareProfileRequest& request,
    google::protobuf::Empty& /*response*/) {
  return Delete<ProfileKind>(call, request.name(), request.etag());
}

}  // namespace mansard::server
