#include "model/hardware/fitted_ranges.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kNames[kSizeNameCount] = {"m",
                                                      "n",
                                                      "k",
                                                      "batch",
                                                      "rows",
                                                      "experts",
                                                      "requests",
                                                      "new_tokens",
                                                      "context_tokens",
                                                      "query_heads",
                                                      "kv_heads",
                                                      "head_size",
                                                      "moved_bytes",
                                                      "message_bytes",
                                                      "ranks",
                                                      "nodes",
                                                      "tokens",
                                                      "columns",
                                                      "experts_per_token"};

}  // namespace

absl::string_view SizeText(SizeName size) {
  return kNames[static_cast<size_t>(size)];
}

std::optional<SizeName> ParseSize(absl::string_view text) {
  for (size_t i = 0; i < kSizeNameCount; ++i) {
    if (text == kNames[i]) return static_cast<SizeName>(i);
  }
  return std::nullopt;
}

std::array<SizeName, kSizeNameCount> AllSizes() {
  std::array<SizeName, kSizeNameCount> all{};
  for (size_t i = 0; i < kSizeNameCount; ++i) all[i] = static_cast<SizeName>(i);
  return all;
}

void FittedRanges::Set(SizeName size, SizeRange range) {
  ranges_.resize(kSizeNameCount);
  ranges_[static_cast<size_t>(size)] = range;
}

void FittedRanges::Include(SizeName size, double value) {
  ranges_.resize(kSizeNameCount);
  SizeRange& range = ranges_[static_cast<size_t>(size)];
  range = range.bounded() ? SizeRange{std::min(range.least, value),
                                      std::max(range.most, value)}
                          : SizeRange{value, value};
}

void CheckFittedRanges(const FittedRanges& ranges,
                       const std::vector<SizeName>& allowed,
                       Violations& violations) {
  if (ranges.empty()) return;
  for (const SizeName size : AllSizes()) {
    const SizeRange& range = ranges[size];
    if (range == SizeRange{}) continue;
    const std::string field =
        absl::StrCat("fitted_ranges[\"", SizeText(size), "\"]");
    if (std::find(allowed.begin(), allowed.end(), size) == allowed.end()) {
      violations.Add(
          field,
          absl::StrCat(
              "is no size of the formula; it has ",
              absl::StrJoin(allowed, ", ", [](std::string* out, SizeName one) {
                absl::StrAppend(out, SizeText(one));
              })));
    }
    // Not a number fails every comparison.
    if (!(range.least >= 0 && range.least <= range.most && range.bounded())) {
      violations.Add(field,
                     absl::StrFormat("is %g to %g; 0 <= least <= most is "
                                     "needed, both finite",
                                     range.least, range.most));
    }
  }
}

}  // namespace mansard::model
