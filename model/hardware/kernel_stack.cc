#include "model/hardware/kernel_stack.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/id.h"

namespace mansard::model {
namespace {

void CheckTime(absl::string_view field, Seconds time, Violations& violations) {
  if (!(time.value() >= 0 && std::isfinite(time.value()))) {
    violations.Add(field, absl::StrFormat("is %g; must be 0 or more and finite",
                                          time.value()));
  }
}

void CheckPositive(absl::string_view field, double value,
                   Violations& violations) {
  if (!(value > 0 && std::isfinite(value))) {
    violations.Add(
        field, absl::StrFormat("is %g; must be positive and finite", value));
  }
}

void CheckFraction(absl::string_view field, double value,
                   Violations& violations) {
  if (!(value > 0 && value <= 1)) {
    violations.Add(
        field, absl::StrFormat("is %g; must be above 0 and at most 1", value));
  }
}

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

void CheckGemm(const GemmFamily& family, Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  CheckTime("launch_seconds", family.launch, violations);
  CheckTime("wave_seconds", family.wave, violations);
  CheckFraction("peak_fraction_ratio", family.peak_fraction, violations);
  CheckFraction("hbm_fraction_ratio", family.hbm_fraction, violations);
  CheckPositive("l2_feed_bytes_per_second", family.l2_feed.value(), violations);
  CheckPositive("tile_rows", family.tile_rows, violations);
  CheckPositive("tile_columns", family.tile_columns, violations);
}

// A tile is part of a multiprocessor's work: larger ones are typing errors.
constexpr int kMaxTileSide = 4096;
constexpr int kMaxSplit = 1024;

void CheckConfigurations(const TiledGemmFamily& family,
                         Violations& violations) {
  if (family.tiles.empty()) {
    violations.Add("tiles", "is empty; at least one is needed");
  }
  for (size_t i = 0; i < family.tiles.size(); ++i) {
    const GemmTile& tile = family.tiles[i];
    if (tile.rows < 1 || tile.rows > kMaxTileSide || tile.columns < 1 ||
        tile.columns > kMaxTileSide) {
      violations.Add(absl::StrCat("tiles[", i, "]"),
                     absl::StrCat("is ", tile.rows, " x ", tile.columns,
                                  "; each side must be 1 to ", kMaxTileSide));
    }
  }
  if (family.splits.empty() || family.splits.front() != 1) {
    violations.Add("split_counts", "must begin with 1");
  }
  for (size_t i = 1; i < family.splits.size(); ++i) {
    if (family.splits[i] <= family.splits[i - 1] ||
        family.splits[i] > kMaxSplit) {
      violations.Add(
          absl::StrCat("split_counts[", i, "]"),
          absl::StrCat("is ", family.splits[i], "; they must ascend, to ",
                       kMaxSplit, " at most"));
    }
  }
}

void CheckTiledGemm(const TiledGemmFamily& family, Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  CheckTime("launch_seconds", family.launch, violations);
  CheckTime("wave_seconds", family.wave, violations);
  CheckTime("split_seconds", family.split_cost, violations);
  CheckTime("block_latency_seconds", family.block_latency, violations);
  CheckFraction("peak_fraction_ratio", family.peak_fraction, violations);
  if (!(family.droop >= 0 && family.droop <= 1)) {
    violations.Add("droop_ratio",
                   absl::StrFormat("is %g; must be 0 to 1", family.droop));
  }
  CheckPositive("droop_seconds", family.droop_time.value(), violations);
  CheckFraction("hbm_fraction_ratio", family.hbm_fraction, violations);
  CheckPositive("l2_feed_bytes_per_second", family.l2_feed.value(), violations);
  CheckPositive("sm_hbm_feed_bytes_per_second", family.sm_hbm_feed.value(),
                violations);
  CheckPositive("sm_smem_feed_bytes_per_second", family.sm_smem_feed.value(),
                violations);
  CheckPositive("k_block_bytes", family.k_block_bytes, violations);
  CheckConfigurations(family, violations);
}

void CheckDecode(const DecodeAttentionFamily& family, Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  CheckTime("launch_seconds", family.launch, violations);
  CheckTime("combine_seconds", family.combine, violations);
  CheckFraction("peak_fraction_ratio", family.peak_fraction, violations);
  CheckFraction("hbm_fraction_ratio", family.hbm_fraction, violations);
  CheckPositive("l2_feed_bytes_per_second", family.l2_feed.value(), violations);
}

void CheckPrefill(const PrefillAttentionFamily& family,
                  Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  CheckTime("launch_seconds", family.launch, violations);
  CheckFraction("hbm_fraction_ratio", family.hbm_fraction, violations);
  if (family.peak_fractions.empty()) {
    violations.Add("peak_fraction_head_128_ratio",
                   "is missing, as are those of all other head sizes; at least "
                   "one is needed");
  }
  int previous = 0;
  for (const auto& [head_size, fraction] : family.peak_fractions) {
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

void CheckElementwise(const ElementwiseFamily& family, Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  CheckTime("launch_seconds", family.launch, violations);
  CheckFraction("hbm_fraction_ratio", family.hbm_fraction, violations);
  CheckPositive("l2_feed_bytes_per_second", family.l2_feed.value(), violations);
}

absl::string_view ProtocolName(CollectiveFamily::Protocol protocol) {
  switch (protocol) {
    case CollectiveFamily::Protocol::kLl:
      return "ll";
    case CollectiveFamily::Protocol::kLl128:
      return "ll128";
    case CollectiveFamily::Protocol::kSimple:
      return "simple";
  }
  return "";
}

void CheckCollective(const CollectiveFamily& family, Violations& violations) {
  Violations::Scope scope(violations, FamilyPath(family.facts));
  CheckFacts(family.facts, violations);
  if (family.lines.empty()) {
    violations.Add("parameters",
                   "has no protocol line; at least one is needed");
  }
  for (const CollectiveFamily::Line& line : family.lines) {
    const absl::string_view name = ProtocolName(line.protocol);
    CheckTime(absl::StrCat(name, "_alpha_seconds"), line.alpha, violations);
    CheckTime(absl::StrCat(name, "_step_seconds"), line.step, violations);
    CheckPositive(absl::StrCat(name, "_bus_bytes_per_second"), line.bus.value(),
                  violations);
  }
}

void CheckFamilyIds(const KernelStackSpec& spec, Violations& violations) {
  std::set<std::string> ids;
  const auto check = [&](const FamilyFacts& facts) {
    if (!ids.insert(facts.id).second) {
      violations.Add("families", absl::StrCat("\"", facts.id,
                                              "\" stands for another family "
                                              "already"));
    }
  };
  for (const GemmFamily& family : spec.gemm) check(family.facts);
  for (const TiledGemmFamily& family : spec.tiled_gemm) check(family.facts);
  check(spec.attention_decode.facts);
  check(spec.attention_prefill.facts);
  check(spec.elementwise.facts);
  // One family may serve several tiers: it counts once.
  std::set<std::string> collective_ids;
  for (const auto& family : spec.collectives) {
    if (family && collective_ids.insert(family->facts.id).second) {
      check(family->facts);
    }
  }
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
    const int tiled = spec.tiled_gemm_by_format[static_cast<size_t>(format)];
    if (tiled < -1 || tiled >= static_cast<int>(spec.tiled_gemm.size()) ||
        (tiled >= 0 && index < 0)) {
      violations.Add(
          "bindings",
          absl::StrCat("gemm ", TraitsOf(format).name,
                       " is bound to tiled family ", tiled, " of ",
                       spec.tiled_gemm.size(),
                       index < 0 ? " and to no roofline family" : ""));
    }
  }
}

void CheckHost(const HostCost& host, Violations& violations) {
  Violations::Scope scope(violations, "host");
  CheckTime("step_seconds", host.step, violations);
  CheckTime("request_seconds", host.request, violations);
  CheckTime("prefill_token_seconds", host.prefill_token, violations);
  CheckTime("eager_launch_seconds", host.eager_launch, violations);
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
  for (const GemmFamily& family : spec.gemm) CheckGemm(family, violations);
  for (const TiledGemmFamily& family : spec.tiled_gemm) {
    CheckTiledGemm(family, violations);
  }
  CheckGemmBindings(spec, violations);
  CheckDecode(spec.attention_decode, violations);
  CheckPrefill(spec.attention_prefill, violations);
  CheckElementwise(spec.elementwise, violations);
  // One family may serve several tiers: it is checked once.
  std::set<std::string> checked;
  for (const auto& family : spec.collectives) {
    if (family && checked.insert(family->facts.id).second) {
      CheckCollective(*family, violations);
    }
  }
  CheckFamilyIds(spec, violations);
  CheckHost(spec.host, violations);
  if (spec.memory.has_value()) {
    Violations::Scope scope(violations, "memory");
    CheckEngineMemory(*spec.memory, violations);
  }
  if (violations.all().size() != before) return std::nullopt;
  return KernelStack(std::move(spec));
}

const GemmFamily* KernelStack::GemmFor(Format compute) const {
  const int index = spec_.gemm_by_format[static_cast<size_t>(compute)];
  return index < 0 ? nullptr : &spec_.gemm[static_cast<size_t>(index)];
}

const TiledGemmFamily* KernelStack::TiledGemmFor(Format compute) const {
  const int index = spec_.tiled_gemm_by_format[static_cast<size_t>(compute)];
  return index < 0 ? nullptr : &spec_.tiled_gemm[static_cast<size_t>(index)];
}

}  // namespace mansard::model
