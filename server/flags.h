// The flags of mansardd. Each is also an environment variable, MANSARD_ and
// the flag's name in capitals; a flag wins over its variable.
#pragma once

#include "absl/status/statusor.h"
#include "server/server.h"

namespace mansard::server {

// Parses the command line; answers --help and --version and exits there.
// INVALID_ARGUMENT, naming the flag or variable, when a value is wrong.
absl::StatusOr<ServerOptions> OptionsFromCommandLine(int argc, char** argv);

}  // namespace mansard::server
