// The flags of `mansard engine create` as an Engine, and back.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "mansard/v1/engine.pb.h"

namespace mansard::cli {

// UsageError where --model or --hardware is a file: engines name what is in the
// catalog.
absl::Status RefuseFiles(const EstimateFlags& flags);

// Model and hardware by their ids. UsageError for a word that is none.
absl::StatusOr<v1::Engine> EngineOfFlags(const Arguments& arguments);

// "--max-sequences 3" for "engine.limits.max_sequence_count"; empty where no
// flag set it.
std::string FlagOfEngineField(const Arguments& arguments,
                              const std::string& field);

}  // namespace mansard::cli
