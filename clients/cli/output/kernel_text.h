// The answer to `mansard kernel` as people read it.
#pragma once

#include <string>

#include "clients/cli/output/style.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// Time and bound; then interval, floor, parts, and intensity against the ridge.
std::string KernelHeadline(const v1::EstimateKernelResponse& response,
                           const std::string& name, const Style& style);

// The weakest of the ops.
v1::Tier TierOf(const v1::EstimateKernelResponse& response);

}  // namespace mansard::cli
