// What `mansard engine load` and `mansard engine observe` show.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/calibration_service.pb.h"
#include "mansard/v1/scheduling_service.pb.h"

namespace mansard::cli {

// A row a time, with its interval; a line of rates comes before.
std::string ServedLoadText(const v1::EstimateServedLoadResponse& response,
                           const Style& style);
Report ServedLoadReport(const v1::EstimateServedLoadResponse& response);

// A row an observation; the factors after them.
std::string ObservedText(const v1::ReportObservationsResponse& response,
                         const Style& style);
Report ObservedReport(const v1::ReportObservationsResponse& response);

// "own factors  passes 1.3 (3 observations), ...: applied".
std::string FactorsText(const v1::ObservedFactors& factors);

}  // namespace mansard::cli
