// What mansard-calibrate diff does.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace mansard::calibrate {

struct DiffOptions {
  std::string a;  // Files.
  std::string b;
  std::string stack = "";     // Only this one, and no device; empty: all.
  std::string hardware = "";  // Of revisions of stacks alone; empty: no steps.
  std::string output = "";    // "text" or "json"; empty: text.
};

// What changed from a to b, to standard output; whether anything did. Steps are
// left out, and a note to standard error says why, where a revision is no whole
// profile. Error: INVALID_ARGUMENT for an option, a file that is no revision;
// NOT_FOUND for a file, or where neither revision has the stack.
absl::StatusOr<bool> RunDiff(const DiffOptions& options);

}  // namespace mansard::calibrate
