// EstimationService.ExplainRoofline.
#pragma once

#include "absl/status/status.h"
#include "mansard/v1/estimation_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

absl::Status ExplainRoofline(CallContext& call,
                             const v1::ExplainRooflineRequest& request,
                             v1::ExplainRooflineResponse& response);

}  // namespace mansard::server
