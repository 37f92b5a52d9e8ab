// Kernels from the wire, and their answers to it.
#pragma once

#include <optional>
#include <string>

#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "model/estimate/kernel.h"

namespace mansard::server {

// Adds violations, below the kernel's field, for what only the wire can get
// wrong; sizes are the domain's to check. Where a rule is broken, values that
// pass the domain's checks stand in, so that it is reported once. Nothing where
// no kernel is set.
std::optional<model::KernelWork> FromProto(
    const v1::EstimateKernelRequest& request, model::Violations& violations);

// kAuto for an empty name, and with a violation for one that there is not.
model::CollectiveAlgorithm AlgorithmFromProto(const std::string& name,
                                              const char* field,
                                              model::Violations& violations);

// All but the resolution.
void ToProto(const model::KernelEstimate& kernel, const model::Device& device,
             v1::EstimateKernelResponse& proto);

}  // namespace mansard::server
