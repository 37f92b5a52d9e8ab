#include "model/hardware/collective_algorithm.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// In the order of CollectiveAlgorithm.
constexpr absl::string_view kNames[] = {
    "",          "one-shot",     "two-shot", "ring",        "tree",
    "in-switch", "hierarchical", "direct",   "low-latency", "throughput"};
static_assert(std::size(kNames) == kCollectiveAlgorithmCount);

}  // namespace

absl::string_view AlgorithmName(CollectiveAlgorithm algorithm) {
  return kNames[static_cast<size_t>(algorithm)];
}

std::optional<CollectiveAlgorithm> ParseAlgorithm(absl::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<CollectiveAlgorithm>(i);
  }
  return std::nullopt;
}

std::string AlgorithmNames() {
  std::string names;
  for (absl::string_view name : kNames) {
    if (name.empty()) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  }
  return names;
}

}  // namespace mansard::model
