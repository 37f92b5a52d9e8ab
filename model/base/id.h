// Ids of graphs, layer kinds, profiles, fabrics, stacks and families.
#pragma once

#include "absl/strings/string_view.h"

namespace mansard::model {

// 1 to 63 lower-case letters, digits, "-" and ".", starting with a letter or
// digit.
bool IsValidId(absl::string_view id);

}  // namespace mansard::model
