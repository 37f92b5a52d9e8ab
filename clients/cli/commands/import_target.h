// What `mansard engine import` looks up in the catalog.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "clients/cli/session.h"
#include "clients/import/engine_import.h"
#include "clients/import/launch_command.h"
#include "clients/import/model_match.h"

namespace mansard::cli {

// The id of the model in the catalog, and why it is that one. UsageError where
// neither --model nor the command in `flag` names one, or the catalog has none.
absl::StatusOr<importing::ModelMatch> FindModel(
    const Session& session, const importing::LaunchCommand& command,
    const char* flag, const EstimateFlags& flags);

importing::ModelFacts FactsOf(const v1::ModelGraph& graph);
importing::DeviceFacts FactsOf(const v1::HardwareProfile& profile);

// The id of the runtime's newest stack; empty where there is none.
std::string NewestStack(const v1::HardwareProfile& profile,
                        importing::Runtime runtime);

}  // namespace mansard::cli
