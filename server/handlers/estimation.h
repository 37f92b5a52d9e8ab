// EstimationService: each handler reads as the data flow.
#pragma once

#include "absl/status/status.h"
#include "mansard/v1/estimation_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

inline constexpr int kMaxBatchRequests = 1000;
// Of one answer: what a batch with per-op rows may grow to.
inline constexpr size_t kMaxResponseBytes = size_t{64} << 20;

absl::Status Estimate(CallContext& call, const v1::EstimateRequest& request,
                      v1::EstimateResponse& response);

absl::Status BatchEstimate(CallContext& call,
                           const v1::BatchEstimateRequest& request,
                           v1::BatchEstimateResponse& response);

}  // namespace mansard::server
