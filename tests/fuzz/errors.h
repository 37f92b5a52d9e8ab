// What every error of a handler is like, whatever the request.
#pragma once

#include "absl/status/status.h"

namespace mansard::fuzz {

// Fails the run where it is not one that the service documents: with one
// reason, a message, violations where a request is bad, and small enough for
// trailers.
void RequireError(const absl::Status& error);

}  // namespace mansard::fuzz
