#include "model/hardware/kernel_stack.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/id.h"
#include "model/base/magnitude.h"
#include "model/hardware/family_parameters.h"
#include "model/hardware/fine_slots.h"

namespace mansard::model {
namespace {

std::string FamilyPath(const FamilyFacts& facts) {
  return absl::StrCat("families[\"", facts.id, "\"]");
}

void CheckFacts(const FamilyFacts& facts, Violations& violations) {
  if (!IsValidId(facts.id)) {
    violations.Add("family", absl::StrCat("is \"", facts.id,
                                          "\"; allowed: 1 to 63 lower-case "
                                          "letters, digits, \"-\", \".\""));
  }
  CheckFraction("residual_ratio", facts.sigma, violations);
}

// A tile is part of a multiprocessor's work: larger ones are typing errors.
constexpr int kMaxTileSide = 4096;
constexpr int kMaxSplit = 1024;
constexpr absl::string_view kHeadPrefix = "peak_fraction_head_";

void CheckTiles(const std::vector<GemmTile>& tiles, Violations& violations) {
  if (tiles.empty()) {
    violations.Add("tiles", "is empty; at least one is needed");
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    const GemmTile& tile = tiles[i];
    if (tile.rows < 1 || tile.rows > kMaxTileSide || tile.columns < 1 ||
        tile.columns > kMaxTileSide) {
      violations.Add(absl::StrCat("tiles[", i, "]"),
                     absl::StrCat("is ", tile.rows, " x ", tile.columns,
                                  "; each side must be 1 to ", kMaxTileSide));
    }
  }
}

void CheckSplits(const std::vector<int>& splits, Violations& violations) {
  if (splits.empty() || splits.front() != 1) {
    violations.Add("split_counts", "must begin with 1");
  }
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] <= splits[i - 1] || splits[i] > kMaxSplit) {
      violations.Add(absl::StrCat("split_counts[", i, "]"),
                     absl::StrCat("is ", splits[i], "; they must ascend, to ",
                                  kMaxSplit, " at most"));
    }
  }
}

void CheckConfigurations(const TiledPrefillFamily& family,
                         Violations& violations) {
  if (family.head_tiles.empty()) {
    violations.Add("head_tiles", "is empty; at least one is needed");
  }
  int previous = 0;
  for (size_t i = 0; i < family.head_tiles.size(); ++i) {
    const HeadTile& tile = family.head_tiles[i];
    const std::string field = absl::StrCat("head_tiles[", i, "]");
    // Several tiles of one head size: the kernel takes the faster.
    if (tile.head_size < std::max(1, previous)) {
      violations.Add(field, absl::StrCat("is for head size ", tile.head_size,
                                         "; head sizes ascend from 1"));
    }
    previous = tile.head_size;
    for (const int side : {tile.rows, tile.columns, tile.local_columns}) {
      if (side >= 1 && side <= kMaxTileSide) continue;
      violations.Add(field, absl::StrCat("has a side of ", side,
                                         "; each must be 1 to ", kMaxTileSide));
      break;
    }
  }
}

void CheckConfigurations(const CollectiveFamily& family,
                         Violations& violations) {
  if (family.lines.empty()) {
    violations.Add("parameters",
                   "has no protocol line; at least one is needed");
  }
}

// Of both attention formulas of prompts.
void CheckHeads(const HeadFractions& fractions, Violations& violations) {
  if (fractions.empty()) {
    violations.Add("peak_fraction_head_128_ratio",
                   "is missing, as are those of all other head sizes; at least "
                   "one is needed");
  }
  int previous = 0;
  for (const auto& [head_size, fraction] : fractions) {
    const std::string field =
        absl::StrCat("peak_fraction_head_", head_size, "_ratio");
    if (head_size <= previous) {
      violations.Add(field, absl::StrCat("comes after head size ", previous,
                                         "; head sizes ascend from 1"));
    }
    previous = head_size;
    CheckFraction(field, fraction, violations);
  }
}

template <class Family>
void CheckConfigurations(const Family& family, Violations& violations) {
  if constexpr (requires { family.splits; }) {
    CheckSplits(family.splits, violations);
  }
  if constexpr (requires { family.tiles; }) {
    CheckTiles(family.tiles, violations);
  }
}

void CheckRange(const char* name, Range range, double value,
                Violations& violations) {
  switch (range) {
    case Range::kTime:
    case Range::kCount:
      CheckNotNegative(name, value, violations);
      return;
    case Range::kPositive:
      CheckPositive(name, "", value, violations);
      return;
    case Range::kFraction:
      CheckFraction(name, value, violations);
      return;
    case Range::kShare:
      violations.CheckRange(name, value, 0, 1);
      return;
  }
}

template <class Family>
void CheckFamily(const Family& family, Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  for (const Parameter<Family>& parameter : Formula<Family>::kParameters) {
    const std::optional<double> value = parameter.get(family);
    // Heads have a check of their own, which knows sizes that have no name.
    if (!value.has_value() || absl::StartsWith(parameter.name, kHeadPrefix)) {
      continue;
    }
    CheckRange(parameter.name, parameter.range, *value, violations);
  }
  if constexpr (requires { family.peak_fractions; }) {
    CheckHeads(family.peak_fractions, violations);
  }
  CheckConfigurations(family, violations);
  CheckFittedRanges(family.facts.fitted_ranges, FormulaSizes<Family>(),
                    violations);
}

// Every family of the stack, each once. One may serve several tiers.
template <class Visit>
void VisitFamilies(const KernelStackSpec& spec, const Visit& visit) {
  const auto all = [&](const auto& families) {
    for (const auto& family : families) visit(family);
  };
  all(spec.gemm);
  visit(spec.attention_decode);
  visit(spec.attention_prefill);
  visit(spec.elementwise);
  std::set<std::string> seen;
  for (const auto& family : spec.collectives) {
    if (family && seen.insert(family->facts.id).second) visit(*family);
  }
  VisitFine([&](const auto& slot) {
    for (const auto& family : (spec.fine.*slot.member).families()) {
      if (seen.insert(family.facts.id).second) visit(family);
    }
  });
}

void CheckFamilyIds(const KernelStackSpec& spec, Violations& violations) {
  std::set<std::string> ids;
  VisitFamilies(spec, [&](const auto& family) {
    if (!ids.insert(family.facts.id).second) {
      violations.Add("families", absl::StrCat("\"", family.facts.id,
                                              "\" stands for another family "
                                              "already"));
    }
  });
}

void CheckGemmBindings(const KernelStackSpec& spec, Violations& violations) {
  if (spec.gemm.empty()) {
    violations.Add("bindings", "has none of op_kind \"gemm\"");
  }
  for (Format format : AllFormats()) {
    const int index = spec.gemm_by_format[static_cast<size_t>(format)];
    if (index < -1 || index >= static_cast<int>(spec.gemm.size())) {
      violations.Add("bindings", absl::StrCat("gemm ", TraitsOf(format).name,
                                              " is bound to family ", index,
                                              " of ", spec.gemm.size()));
    }
  }
}

void CheckHost(const HostCost& host, Violations& violations) {
  Violations::Scope scope(violations, "host");
  CheckNotNegative("step_seconds", host.step.value(), violations);
  CheckNotNegative("request_seconds", host.request.value(), violations);
  CheckNotNegative("prefill_token_seconds", host.prefill_token.value(),
                   violations);
  CheckNotNegative("eager_launch_seconds", host.eager_launch.value(),
                   violations);
}

void CheckFusion(const Fusion& fusion, Violations& violations) {
  Violations::Scope scope(violations, "fusion");
  violations.CheckRange("foreign_expert_row_ratio", fusion.foreign_expert_rows,
                        0, 1);
}

}  // namespace

absl::string_view TierName(Tier tier) {
  switch (tier) {
    case Tier::kSpec:
      return "spec";
    case Tier::kTransferred:
      return "transferred";
    case Tier::kCalibrated:
      return "calibrated";
  }
  return "";
}

double PrefillAttentionFamily::PeakFraction(int head_size) const {
  for (const auto& [listed, fraction] : peak_fractions) {
    if (head_size <= listed) return fraction;
  }
  return peak_fractions.back().second;
}

std::optional<KernelStack> KernelStack::Create(KernelStackSpec spec,
                                               Violations& violations) {
  const size_t before = violations.all().size();
  if (!IsValidId(spec.id)) {
    violations.Add("stack", absl::StrCat("is \"", spec.id,
                                         "\"; allowed: 1 to 63 lower-case "
                                         "letters, digits, \"-\", \".\""));
  }
  VisitFamilies(spec,
                [&](const auto& family) { CheckFamily(family, violations); });
  CheckGemmBindings(spec, violations);
  CheckFamilyIds(spec, violations);
  CheckHost(spec.host, violations);
  CheckFusion(spec.fusion, violations);
  if (spec.memory.has_value()) {
    Violations::Scope scope(violations, "memory");
    CheckEngineMemory(*spec.memory, violations);
  }
  if (spec.engine_costs.has_value()) {
    CheckEngineCosts(*spec.engine_costs, violations);
  }
  if (violations.all().size() != before) return std::nullopt;
  return KernelStack(std::move(spec));
}

const GemmFamily* KernelStack::GemmFor(Format compute) const {
  const int index = spec_.gemm_by_format[static_cast<size_t>(compute)];
  return index < 0 ? nullptr : &spec_.gemm[static_cast<size_t>(index)];
}

Tier KernelStack::StrongestTier() const {
  Tier strongest = std::max({spec_.attention_decode.facts.tier,
                             spec_.attention_prefill.facts.tier,
                             spec_.elementwise.facts.tier});
  for (const GemmFamily& family : spec_.gemm) {
    strongest = std::max(strongest, family.facts.tier);
  }
  for (const std::optional<CollectiveFamily>& family : spec_.collectives) {
    if (family.has_value()) strongest = std::max(strongest, family->facts.tier);
  }
  VisitFine([this, &strongest](const auto& slot) {
    for (const auto& family : (spec_.fine.*slot.member).families()) {
      strongest = std::max(strongest, family.facts.tier);
    }
  });
  return strongest;
}

}  // namespace mansard::model
