// "Did you mean ...?"
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace mansard::model {

// The candidates nearest to `name` by edit distance, nearest first: at most
// three, and only those that a typing mistake explains.
std::vector<std::string> ClosestNames(
    absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace mansard::model
