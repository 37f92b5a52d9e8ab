// SchedulingService. All rules of a request are reported together, as
// INVALID_REQUEST; then ENGINE_NOT_FOUND and ENGINE_BROKEN.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "mansard/v1/scheduling_service.pb.h"
#include "server/rpc.h"

namespace mansard::server {

inline constexpr int kMaxLatencyQueries = 512;
inline constexpr int kMaxStepRows = 100'000;

absl::Status RecommendBatchSize(CallContext& call,
                                const v1::RecommendBatchSizeRequest& request,
                                v1::RecommendBatchSizeResponse& response);
absl::Status PredictLatencies(CallContext& call,
                              const v1::PredictLatenciesRequest& request,
                              v1::PredictLatenciesResponse& response);
absl::Status PredictSteps(CallContext& call,
                          const v1::PredictStepsRequest& request,
                          v1::PredictStepsResponse& response);
absl::Status FindEngineCapacity(CallContext& call,
                                const v1::FindEngineCapacityRequest& request,
                                v1::FindEngineCapacityResponse& response);
absl::Status EstimateServedLoad(CallContext& call,
                                const v1::EstimateServedLoadRequest& request,
                                v1::EstimateServedLoadResponse& response);
absl::Status FitLatencyModel(CallContext& call,
                             const v1::FitLatencyModelRequest& request,
                             v1::FitLatencyModelResponse& response);

// What one stream remembers between its messages.
struct StepStream {
  std::string engine;  // As the last message that named one.
  model::StepTimer timer;
};
// One message of StreamPredictions; what is wrong with it is in its answer.
void PredictStep(CallContext& call, StepStream& stream,
                 const v1::StreamPredictionsRequest& request,
                 v1::StreamPredictionsResponse& response);

}  // namespace mansard::server
