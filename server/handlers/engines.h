// CatalogService: engines.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/empty.pb.h"
#include "mansard/v1/catalog_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

// Broken engines answer what was stored, with the reason as a warning.
absl::Status GetEngine(CallContext& call, const v1::GetEngineRequest& request,
                       v1::Engine& response);
absl::Status ListEngines(CallContext& call,
                         const v1::ListEnginesRequest& request,
                         v1::ListEnginesResponse& response);
absl::Status CreateEngine(CallContext& call,
                          const v1::CreateEngineRequest& request,
                          v1::Engine& response);
absl::Status UpdateEngine(CallContext& call,
                          const v1::UpdateEngineRequest& request,
                          v1::Engine& response);
absl::Status DeleteEngine(CallContext& call,
                          const v1::DeleteEngineRequest& request,
                          google::protobuf::Empty& response);

}  // namespace mansard::server
