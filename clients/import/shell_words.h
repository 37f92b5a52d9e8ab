// A command line as text, split into words as a shell does.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::importing {

// Words between blanks; '...' and "..." hold blanks together, a backslash takes
// the next character as it is, and one before the end of a line joins the
// lines; # at a word's start begins a comment. $NAME stays as it is written.
// InvalidArgument: a quote that is not closed, or an operator (&& | ; > &), as
// that is more than one command.
absl::StatusOr<std::vector<std::string>> SplitShellWords(
    absl::string_view text);

}  // namespace mansard::importing
