// What `mansard kv` shows.
#pragma once

#include <string>

#include "clients/cli/output/report.h"
#include "mansard/v1/planning_service.pb.h"

namespace mansard::cli {

// A row a source.
Report SourcesReport(const v1::PlanKvTransferResponse& response);

// At which prefix lengths fetching is faster: "always", "never", "from 1,024",
// "up to 511, from 9,000".
std::string FetchWins(const v1::PlanKvTransferResponse::Option& option);

}  // namespace mansard::cli
