// The command line, parsed and checked as far as that needs no server.
#pragma once

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"

namespace mansard::cli {

// Fails with UsageError. Reads MANSARD_SERVER where --server is not given.
absl::StatusOr<Arguments> ParseArguments(int argc, const char* const* argv);

}  // namespace mansard::cli
