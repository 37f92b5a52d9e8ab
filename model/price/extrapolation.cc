#include "model/price/extrapolation.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/price/op_sizes.h"

namespace mansard::model {
namespace {

// Op kind, family, what lies outside of it: a size and on which side, or empty.
using Place = std::tuple<std::string, std::string, std::string, bool>;
struct Outside {
  double size = 0;
  double bound = 0;
};

void AddOutside(const Op& op, const FamilyFacts& family,
                std::map<Place, Outside>& found) {
  const std::string kind(OpKindName(op.kind));
  bool named = false;
  const FittedRanges& ranges = family.fitted_ranges;
  if (!ranges.empty()) {
    VisitSizes(op, [&](SizeName name, double size) {
      const SizeRange& range = ranges[name];
      if (range.Holds(size)) return;
      named = true;
      const bool above = size > range.most;
      const Place place{kind, family.id, std::string(SizeText(name)), above};
      const auto [at, is_new] = found.try_emplace(
          place, Outside{size, above ? range.most : range.least});
      if (is_new) return;
      Outside& furthest = at->second;
      furthest.size =
          above ? std::max(furthest.size, size) : std::min(furthest.size, size);
    });
  }
  // By the formula's own rules: a head size, a format, an algorithm.
  if (!named) found.try_emplace(Place{kind, family.id, "", true});
}

std::string TextOf(const std::pair<const Place, Outside>& one) {
  const auto& [kind, family, size, above] = one.first;
  if (size.empty()) {
    return absl::StrCat(kind, " in a way that ", family, " was not fitted on");
  }
  return absl::StrFormat("%s %s %.10g %s %.10g of %s", kind, size,
                         one.second.size, above ? ">" : "<", one.second.bound,
                         family);
}

}  // namespace

std::string ExtrapolationText(const OpList& ops,
                              const std::vector<OpTime>& times) {
  size_t count = 0;
  std::map<Place, Outside> found;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!times[i].extrapolated) continue;
    ++count;
    AddOutside(ops[i], *times[i].family, found);
  }
  if (count == 0) return "";
  return absl::StrCat(
      count, " of ", ops.size(),
      " ops lie outside the range that their kernel family was fitted on: ",
      absl::StrJoin(found, ", ", [](std::string* out, const auto& one) {
        absl::StrAppend(out, TextOf(one));
      }));
}

}  // namespace mansard::model
