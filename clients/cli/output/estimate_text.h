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
using OpEstimates = google::protobuf::RepeatedPtrField<v1::OpEstimate>;
// One row an op. `tier`: of the whole; ops of another are marked.
Report OpsReport(const OpEstimates& ops, double whole_seconds, v1::Tier tier);
inline Report OpsReport(const v1::PhaseEstimate& estimate) {
  return OpsReport(estimate.ops(), estimate.time_seconds(), estimate.tier());
}
// What the marks in the ops' rows mean; empty where there are none.
std::string OpsLegend(const OpEstimates& ops);
// What would change the time: a line for each different advice to ops that
// take a percent of it or more, with the op that takes most; largest first.
std::string AdviceText(const OpEstimates& ops, double whole_seconds);
inline std::string AdviceText(const v1::PhaseEstimate& estimate) {
  return AdviceText(estimate.ops(), estimate.time_seconds());
}
// One row a tier, HBM by class of bytes.
Report WaterfallReport(const v1::EstimateResponse& response);

// What was used, and what to know about it. `quiet` leaves warnings only.
std::string FooterText(const v1::Resolution& used, v1::Tier tier, bool quiet,
                       const Style& style);

}  // namespace mansard::cli
