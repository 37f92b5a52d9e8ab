// CatalogService: writes of graphs and profiles.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/empty.pb.h"
#include "mansard/v1/catalog_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

absl::Status CreateModelGraph(CallContext& call,
                              const v1::CreateModelGraphRequest& request,
                              v1::ModelGraph& response);
absl::Status UpdateModelGraph(CallContext& call,
                              const v1::UpdateModelGraphRequest& request,
                              v1::ModelGraph& response);
absl::Status DeleteModelGraph(CallContext& call,
                              const v1::DeleteModelGraphRequest& request,
                              google::protobuf::Empty& response);
absl::Status CreateHardwareProfile(
    CallContext& call, const v1::CreateHardwareProfileRequest& request,
    v1::HardwareProfile& response);
absl::Status UpdateHardwareProfile(
    CallContext& call, const v1::UpdateHardwareProfileRequest& request,
    v1::HardwareProfile& response);
absl::Status DeleteHardwareProfile(
    CallContext& call, const v1::DeleteHardwareProfileRequest& request,
    google::protobuf::Empty& response);

}  // namespace mansard::server
