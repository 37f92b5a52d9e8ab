#include "model/workload/overlap.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mansard::model {

double Overlap::Best() const {
  return std::min(1.0, efficiency + kEfficiencySpread);
}

double Overlap::Worst() const {
  return std::max(0.0, efficiency - kEfficiencySpread);
}

absl::string_view OverlapKindName(Overlap::Kind kind) {
  switch (kind) {
    case Overlap::Kind::kTwoBatch:
      return "two-batch";
    case Overlap::Kind::kGemm:
      return "gemm";
  }
  return "";
}

std::optional<Overlap::Kind> ParseOverlapKind(absl::string_view name) {
  for (const auto kind : {Overlap::Kind::kTwoBatch, Overlap::Kind::kGemm}) {
    if (OverlapKindName(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string OverlapKindNames() {
  return absl::StrCat(OverlapKindName(Overlap::Kind::kTwoBatch), ", ",
                      OverlapKindName(Overlap::Kind::kGemm));
}

}  // namespace mansard::model
