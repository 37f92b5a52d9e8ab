// What `mansard batch` and the questions of `mansard engine` show.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/scheduling_service.pb.h"

namespace mansard::cli {

// The batch, its throughput and bound; then what limits it, a line each.
std::string BatchText(const v1::RecommendBatchSizeRequest& request,
                      const v1::RecommendBatchSizeResponse& response,
                      const Style& style);
Report BatchReport(const v1::RecommendBatchSizeResponse& response);

// A row a query. For people the numbers of the queries' rows come first.
Report LatenciesReport(const v1::PredictLatenciesRequest& request,
                       const v1::PredictLatenciesResponse& response);

std::string CapacityText(const v1::FindEngineCapacityRequest& request,
                         const v1::FindEngineCapacityResponse& response,
                         const Style& style);
Report CapacityReport(const v1::FindEngineCapacityResponse& response);

// A row a line.
Report LatencyModelReport(const v1::FitLatencyModelResponse& response);
std::string LatencyModelText(const v1::FitLatencyModelRequest& request,
                             const v1::FitLatencyModelResponse& response,
                             const Style& style);

}  // namespace mansard::cli
