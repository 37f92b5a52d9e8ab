// "Did you mean ...?" for the words of the command line.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mansard::cli {

// The candidate nearest to `word` by edit distance, or empty where none is
// near enough to be a typing mistake.
std::string ClosestWord(absl::string_view word,
                        const std::vector<std::string>& candidates);

}  // namespace mansard::cli
