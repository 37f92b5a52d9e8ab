// PlanningService.PlanKvTransfer.
#pragma once

#include "absl/status/status.h"
#include "mansard/v1/planning_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

absl::Status PlanKvTransfer(CallContext& call,
                            const v1::PlanKvTransferRequest& request,
                            v1::PlanKvTransferResponse& response);

}  // namespace mansard::server
