// EstimationService.EstimateKernel.
#pragma once

#include "absl/status/status.h"
#include "mansard/v1/estimation_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

absl::Status EstimateKernel(CallContext& call,
                            const v1::EstimateKernelRequest& request,
                            v1::EstimateKernelResponse& response);

}  // namespace mansard::server
