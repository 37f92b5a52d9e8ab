// CatalogService: reads of graphs and profiles, and the import of config files.
#pragma once

#include "absl/status/status.h"
#include "mansard/v1/catalog_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

absl::Status GetServerInfo(CallContext& call,
                           const v1::GetServerInfoRequest& request,
                           v1::ServerInfo& response);
absl::Status GetModelGraph(CallContext& call,
                           const v1::GetModelGraphRequest& request,
                           v1::ModelGraph& response);
absl::Status ListModelGraphs(CallContext& call,
                             const v1::ListModelGraphsRequest& request,
                             v1::ListModelGraphsResponse& response);
absl::Status ImportHuggingFaceConfig(
    CallContext& call, const v1::ImportHuggingFaceConfigRequest& request,
    v1::ImportHuggingFaceConfigResponse& response);
absl::Status GetHardwareProfile(CallContext& call,
                                const v1::GetHardwareProfileRequest& request,
                                v1::HardwareProfile& response);
absl::Status ListHardwareProfiles(
    CallContext& call, const v1::ListHardwareProfilesRequest& request,
    v1::ListHardwareProfilesResponse& response);

absl::Status ListHardwareProfileRevisions(
    CallContext& call, const v1::ListHardwareProfileRevisionsRequest& request,
    v1::ListHardwareProfileRevisionsResponse& response);

}  // namespace mansard::server
