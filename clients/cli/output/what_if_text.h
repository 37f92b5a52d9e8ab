// Sensitivities and what-ifs as tables.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// Resources that the step uses; what gains most comes first.
Report SensitivityReport(const v1::EstimateResponse& response);
// The request as it is, then the changes in the service's order; those that
// cannot be for programs only.
Report WhatIfReport(const v1::EstimateResponse& response, Reader reader);
// A line for each that cannot be: "cannot be: weights nvfp4: ...".
std::string ImpossibleText(const v1::EstimateResponse& response);

}  // namespace mansard::cli
