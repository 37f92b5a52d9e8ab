// The sizes of what a kernel family was fitted on: beyond them its formula is
// carried on where nothing was measured.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/violations.h"

namespace mansard::model {

// Sizes of an op; op_sizes.h says which ones it has.
enum class SizeName {
  kM,
  kN,
  kK,
  kBatch,
  kRows,     // Of all of a rank's experts.
  kExperts,  // Of a rank.
  kRequests,
  kNewTokens,      // Of a request, as context_tokens.
  kContextTokens,  // Before the pass and new.
  kQueryHeads,     // Of a rank, as kv_heads.
  kKvHeads,
  kHeadSize,  // Of keys.
  kMovedBytes,
  kMessageBytes,
  kRanks,
  kNodes,
  kTokens,  // Of a rank.
  kColumns,
  kExpertsPerToken,
};
inline constexpr size_t kSizeNameCount = 19;
// "context_tokens".
absl::string_view SizeText(SizeName size);
std::optional<SizeName> ParseSize(absl::string_view text);
std::array<SizeName, kSizeNameCount> AllSizes();

struct SizeRange {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();

  bool bounded() const {
    return most != std::numeric_limits<double>::infinity();
  }
  bool Holds(double size) const { return least <= size && size <= most; }
  bool operator==(const SizeRange&) const = default;
};

// By size; one that is not there has no bounds.
class FittedRanges {
 public:
  // No size has bounds.
  bool empty() const { return ranges_.empty(); }
  // Precondition: not empty.
  const SizeRange& operator[](SizeName size) const {
    return ranges_[static_cast<size_t>(size)];
  }
  void Set(SizeName size, SizeRange range);
  // Widens the size's range to hold `value`.
  void Include(SizeName size, double value);

  bool operator==(const FittedRanges&) const = default;

 private:
  std::vector<SizeRange> ranges_;  // Empty, or one of every size.
};

// 0 <= least <= most, both finite; no size but the `allowed` ones.
void CheckFittedRanges(const FittedRanges& ranges,
                       const std::vector<SizeName>& allowed,
                       Violations& violations);

}  // namespace mansard::model
