#include "clients/cli/suggest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace mansard::cli {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn `a`
// into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1);  // Row i - 2.
  std::vector<size_t> last(b.size() + 1);    // Row i - 1.
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::string ClosestWord(absl::string_view word,
                        const std::vector<std::string>& candidates) {
  std::string closest;
  size_t best = word.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best || (distance == best && closest.empty())) {
      best = distance;
      closest = candidate;
    }
  }
  return closest;
}

}  // namespace mansard::cli
