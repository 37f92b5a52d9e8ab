// The answer to `mansard roofline` as people read it.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// Datasheet and stack side by side, with ridge points.
Report CeilingsReport(const v1::ExplainRooflineResponse& response);
// One row an op.
Report PointsReport(const v1::ExplainRooflineResponse& response);
// Where bounds flip, datasheet and stack side by side.
Report CrossoversReport(const v1::ExplainRooflineResponse& response);

}  // namespace mansard::cli
