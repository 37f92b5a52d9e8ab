// The answer to `mansard estimate` as people read it.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// The verdict: time, throughput, bound and fit; then interval, floor, rates and
// memory, a line each.
std::string HeadlineText(const v1::EstimateResponse& response,
                         const v1::ForwardPass& pass, const Style& style);

// Ops of the same kind and place together, over all layers.
Report PartsReport(const v1::EstimateResponse& response);
// One row an op.
Report OpsReport(const v1::EstimateResponse& response);
// What the marks in the ops' rows mean; empty where there are none.
std::string OpsLegend(const v1::EstimateResponse& response);
// One row a tier, HBM by class of bytes.
Report WaterfallReport(const v1::EstimateResponse& response);

// What was used, and what to know about it. `quiet` leaves warnings only.
std::string FooterText(const v1::EstimateResponse& response, bool quiet,
                       const Style& style);

}  // namespace mansard::cli
