#include "model/base/suggest.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"

namespace mansard::model {
namespace {

// Levenshtein distance, case ignored.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same =
          absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      const size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> ClosestNames(
    absl::string_view name, const std::vector<std::string>& candidates) {
  // Longer than any name: comparing would only cost time.
  if (name.empty() || name.size() > 128) return {};
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(name, candidate);
    // "h100" for "h100-sxm": a part of a name is close too.
    const bool part = absl::AsciiStrToLower(candidate).find(
                          absl::AsciiStrToLower(name)) != std::string::npos;
    if (part || distance <= std::max<size_t>(2, name.size() / 3)) {
      near.emplace_back(distance, candidate);
    }
  }
  std::sort(near.begin(), near.end());
  if (near.size() > 3) near.resize(3);
  std::vector<std::string> names;
  for (auto& [distance, candidate] : near) names.push_back(candidate);
  return names;
}

}  // namespace mansard::model
