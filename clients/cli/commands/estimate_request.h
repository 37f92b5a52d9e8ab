// The flags of `mansard estimate` as a request, and back: which flag set a
// field.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "mansard/v1/estimation_service.pb.h"

namespace mansard::cli {

// The pass, by the command line contract: --context counts the tokens computed
// now, so what is cached is context - tokens. UsageError for a flag that is
// missing, does not belong to the phase, or contradicts another.
absl::StatusOr<v1::ForwardPass> ForwardPassOf(const EstimateFlags& flags);

// How tokens spread over experts; UsageError where --routing names no kind.
absl::StatusOr<v1::ExpertRouting> RoutingOf(const EstimateFlags& flags);

// Layout, formats, fabric, stack, KV heads, what-ifs: all of the target but
// model and hardware.
void FillTarget(const EstimateFlags& flags, v1::Target* target);

// "--tp 3" for "target.parallelism.tensor_size"; empty where no flag set it.
std::string FlagOfField(const EstimateFlags& flags, const std::string& field);

}  // namespace mansard::cli
