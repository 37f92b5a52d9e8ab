#include "model/base/id.h"

#include <algorithm>

namespace mansard::model {

bool IsValidId(absl::string_view id) {
  if (id.empty() || id.size() > 63) return false;
  const auto alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return alphanumeric(id.front()) &&
         std::all_of(id.begin(), id.end(), [&](char c) {
           return alphanumeric(c) || c == '-' || c == '.';
         });
}

}  // namespace mansard::model
