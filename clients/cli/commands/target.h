// What --model and --hardware name, ids or files, in a request.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/arguments.h"
#include "clients/cli/session.h"

namespace mansard::cli {

absl::Status FillHardware(const EstimateFlags& flags, v1::Target* target);

// `assumptions`: what a config.json left open, for the reader of the answer.
absl::Status FillSubject(const Session& session, const EstimateFlags& flags,
                         v1::Target* target,
                         std::vector<std::string>* assumptions);

// Where to look for an id that is not there; empty for other errors.
std::string CatalogHint(const absl::Status& status);

// Fills in the subject of an estimate: the engine, or model, hardware and all
// that flags say of the target. UsageError where flags name both.
absl::Status FillEstimateSubject(const Session& session,
                                 const EstimateFlags& flags,
                                 v1::EstimateRequest* request,
                                 std::vector<std::string>* assumptions);

// "engines/x" for x; a whole name stays.
std::string FullName(const char* collection, const std::string& id);

}  // namespace mansard::cli
