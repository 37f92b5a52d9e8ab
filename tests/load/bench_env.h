// What handlers need, without a server around them.
#pragma once

#include "server/env.h"

namespace mansard::load {

// The process's; with "engines/bench".
server::ServerEnv& TheEnv();

}  // namespace mansard::load
