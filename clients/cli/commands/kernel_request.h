// The flags of `mansard kernel` as a request, and back.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// All but the hardware. UsageError for a flag that is missing or does not go
// with another.
absl::StatusOr<v1::EstimateKernelRequest> KernelRequestOf(
    const Arguments& arguments);

// "--m 3" for "gemm.m"; empty where no flag set it.
std::string FlagOfKernelField(const Arguments& arguments,
                              const std::string& field);

}  // namespace mansard::cli
