// What engines were seen to take.
#pragma once

#include "absl/status/status.h"
#include "mansard/v1/calibration_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

// Rules are reported all together, those of an observation below
// "observations[i]".
absl::Status ReportObservations(CallContext& call,
                                const v1::ReportObservationsRequest& request,
                                v1::ReportObservationsResponse& response);

}  // namespace mansard::server
