#include "model/io/family_io.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/hardware/family_parameters.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

struct TierPair {
  v1::Tier wire;
  Tier domain;
};
constexpr TierPair kTiers[] = {{v1::TIER_SPEC, Tier::kSpec},
                               {v1::TIER_TRANSFERRED, Tier::kTransferred},
                               {v1::TIER_CALIBRATED, Tier::kCalibrated}};

// Values are KernelStack::Create's matter.
void ReadRanges(const v1::KernelFamily& proto, FittedRanges& ranges,
                Violations& violations) {
  std::set<SizeName> seen;
  for (int i = 0; i < proto.fitted_ranges_size(); ++i) {
    const auto& read = proto.fitted_ranges(i);
    Violations::Scope scope(violations,
                            Indexed("fitted_ranges", static_cast<size_t>(i)));
    const std::optional<SizeName> size = ParseSize(read.size());
    if (!size.has_value()) {
      violations.Add(
          "size",
          absl::StrCat("\"", read.size(), "\" is unknown; known: ",
                       absl::StrJoin(AllSizes(), ", ",
                                     [](std::string* out, SizeName known) {
                                       absl::StrAppend(out, SizeText(known));
                                     })));
    } else if (!seen.insert(*size).second) {
      violations.Add("size",
                     absl::StrCat("\"", read.size(), "\" is there already"));
    } else {
      ranges.Set(*size, {read.least_value(), read.most_value()});
    }
  }
}

void WriteRanges(const FittedRanges& ranges, v1::KernelFamily& proto) {
  if (ranges.empty()) return;
  for (const SizeName size : AllSizes()) {
    if (!ranges[size].bounded()) continue;
    auto& written = *proto.add_fitted_ranges();
    written.set_size(std::string(SizeText(size)));
    written.set_least_value(ranges[size].least);
    written.set_most_value(ranges[size].most);
  }
}

FamilyFacts FactsFromProto(const v1::KernelFamily& proto,
                           Violations& violations) {
  FamilyFacts facts;
  facts.id = proto.family();
  facts.sigma = proto.residual_ratio();
  bool known = false;
  for (const TierPair& tier : kTiers) {
    if (tier.wire == proto.tier()) {
      facts.tier = tier.domain;
      known = true;
    }
  }
  if (!known) {
    violations.Add("tier",
                   "is required: TIER_SPEC, TIER_TRANSFERRED or "
                   "TIER_CALIBRATED");
  }
  facts.provenance = ProvenanceFromProto(proto.provenance(), violations);
  ReadRanges(proto, facts.fitted_ranges, violations);
  return facts;
}

// Values by name; what stands twice or belongs to no parameter of the formula
// is a violation. Fills the provenance of single parameters.
template <class Family>
std::map<std::string, double> ReadValues(const v1::KernelFamily& proto,
                                         FamilyFacts& facts,
                                         Violations& violations) {
  std::vector<std::string> known;
  for (const auto& parameter : Formula<Family>::kParameters) {
    known.push_back(parameter.name);
  }
  std::map<std::string, double> values;
  for (int i = 0; i < proto.parameters_size(); ++i) {
    const auto& read = proto.parameters(i);
    Violations::Scope scope(violations,
                            Indexed("parameters", static_cast<size_t>(i)));
    const std::string& name = read.parameter();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      violations.Add("parameter",
                     absl::StrCat("\"", name, "\" is no parameter of ",
                                  Formula<Family>::kName, "; it has ",
                                  absl::StrJoin(known, ", ")));
      continue;
    }
    if (!values.emplace(name, read.value()).second) {
      violations.Add("parameter",
                     absl::StrCat("\"", name, "\" is there already"));
    }
    if (read.has_p10_value() != read.has_p90_value()) {
      violations.Add("p10_value", "and p90_value: give both or none");
    } else if (read.has_p10_value()) {
      facts.parameter_intervals[name] = {read.p10_value(), read.p90_value()};
    }
    if (read.has_provenance()) {
      facts.parameter_provenance[name] =
          ProvenanceFromProto(read.provenance(), violations);
    }
  }
  return values;
}

// Every required parameter; groups whole or absent, and one of them at least.
template <class Family>
void CheckComplete(const std::map<std::string, double>& values,
                   Violations& violations) {
  std::set<std::string> present;
  for (const auto& parameter : Formula<Family>::kParameters) {
    if (values.count(parameter.name) > 0) present.insert(parameter.group);
  }
  bool has_groups = false;
  std::vector<std::string> optional_names;
  for (const auto& parameter : Formula<Family>::kParameters) {
    const std::string group = parameter.group;
    if (group == kMayBeAbsent) continue;
    if (!group.empty()) {
      has_groups = true;
      optional_names.push_back(parameter.name);
    }
    if (values.count(parameter.name) > 0) continue;
    if (group.empty()) {
      violations.Add("parameters",
                     absl::StrCat("\"", parameter.name, "\" is missing"));
    } else if (present.count(group) > 0) {
      violations.Add("parameters",
                     absl::StrCat("\"", parameter.name, "\" is missing; \"",
                                  group, "\" is there in part"));
    }
  }
  present.erase("");
  present.erase(kMayBeAbsent);
  if (has_groups && present.empty()) {
    violations.Add("parameters",
                   absl::StrCat("needs at least one of ",
                                absl::StrJoin(optional_names, ", ")));
  }
}

// The configurations of a family, where its formula has some.
template <class Family>
void ReadConfigurations(const v1::KernelFamily& proto, Family& family,
                        Violations& violations) {
  const auto refuse = [&](const char* field, int size) {
    if (size > 0) {
      violations.Add(field,
                     absl::StrCat("are no part of ", Formula<Family>::kName));
    }
  };
  if constexpr (requires { family.tiles; }) {
    for (const auto& tile : proto.tiles()) {
      family.tiles.push_back({tile.row_count(), tile.column_count()});
    }
  } else {
    refuse("tiles", proto.tiles_size());
  }
  if constexpr (requires { family.splits; }) {
    family.splits.assign(proto.split_counts().begin(),
                         proto.split_counts().end());
  } else {
    refuse("split_counts", proto.split_counts_size());
  }
  if constexpr (requires { family.head_tiles; }) {
    for (const auto& tile : proto.head_tiles()) {
      family.head_tiles.push_back({tile.head_size(), tile.row_count(),
                                   tile.column_count(),
                                   tile.local_column_count()});
    }
  } else {
    refuse("head_tiles", proto.head_tiles_size());
  }
}

template <class Family>
void WriteConfigurations(const Family& family, v1::KernelFamily& proto) {
  if constexpr (requires { family.tiles; }) {
    for (const GemmTile& tile : family.tiles) {
      auto& written = *proto.add_tiles();
      written.set_row_count(tile.rows);
      written.set_column_count(tile.columns);
    }
  }
  if constexpr (requires { family.splits; }) {
    for (const int split : family.splits) proto.add_split_counts(split);
  }
  if constexpr (requires { family.head_tiles; }) {
    for (const HeadTile& tile : family.head_tiles) {
      auto& written = *proto.add_head_tiles();
      written.set_head_size(tile.head_size);
      written.set_row_count(tile.rows);
      written.set_column_count(tile.columns);
      written.set_local_column_count(tile.local_columns);
    }
  }
}

template <class Family>
std::optional<KernelFamily> Read(const v1::KernelFamily& proto,
                                 Violations& violations) {
  const size_t before = violations.all().size();
  Family family{};
  family.facts = FactsFromProto(proto, violations);
  const std::map<std::string, double> values =
      ReadValues<Family>(proto, family.facts, violations);
  CheckComplete<Family>(values, violations);
  ReadConfigurations(proto, family, violations);
  if (violations.all().size() != before) return std::nullopt;
  for (const auto& parameter : Formula<Family>::kParameters) {
    const auto value = values.find(parameter.name);
    if (value != values.end()) parameter.set(family, value->second);
  }
  return family;
}

template <class Family>
void WriteParameters(const Family& family, v1::KernelFamily& proto) {
  for (const auto& parameter : Formula<Family>::kParameters) {
    const std::optional<double> value = parameter.get(family);
    if (!value) continue;
    auto& written = *proto.add_parameters();
    written.set_parameter(parameter.name);
    written.set_value(*value);
    const auto interval = family.facts.parameter_intervals.find(parameter.name);
    if (interval != family.facts.parameter_intervals.end()) {
      written.set_p10_value(interval->second.first);
      written.set_p90_value(interval->second.second);
    }
    const auto own = family.facts.parameter_provenance.find(parameter.name);
    if (own != family.facts.parameter_provenance.end()) {
      *written.mutable_provenance() = ProvenanceToProto(own->second);
    }
  }
  WriteConfigurations(family, proto);
}

using Reader = std::optional<KernelFamily> (*)(const v1::KernelFamily&,
                                               Violations&);
struct NamedReader {
  const char* formula;
  Reader read;
};
template <class Family>
constexpr NamedReader ReaderOf() {
  return {Formula<Family>::kName, &Read<Family>};
}
// In the order of the variant.
template <class Variant>
struct Readers;
template <class... Families>
struct Readers<std::variant<Families...>> {
  static constexpr NamedReader kAll[] = {ReaderOf<Families>()...};
};
constexpr const auto& kReaders = Readers<KernelFamily>::kAll;

}  // namespace

std::optional<KernelFamily> FamilyFromProto(const v1::KernelFamily& proto,
                                            Violations& violations) {
  for (const NamedReader& reader : kReaders) {
    if (proto.formula() == reader.formula) {
      return reader.read(proto, violations);
    }
  }
  violations.Add("formula",
                 absl::StrCat("\"", proto.formula(),
                              "\" is unknown; known: ", FormulaNames()));
  return std::nullopt;
}

v1::KernelFamily FamilyToProto(const KernelFamily& family) {
  v1::KernelFamily proto;
  const FamilyFacts& facts = FactsOf(family);
  proto.set_family(facts.id);
  proto.set_formula(std::string(FormulaOf(family)));
  proto.set_residual_ratio(facts.sigma);
  for (const TierPair& tier : kTiers) {
    if (tier.domain == facts.tier) proto.set_tier(tier.wire);
  }
  *proto.mutable_provenance() = ProvenanceToProto(facts.provenance);
  WriteRanges(facts.fitted_ranges, proto);
  std::visit([&](const auto& typed) { WriteParameters(typed, proto); }, family);
  return proto;
}

absl::string_view FormulaOf(const KernelFamily& family) {
  return kReaders[family.index()].formula;
}

std::string FormulaNames() {
  return absl::StrJoin(kReaders, ", ",
                       [](std::string* out, const NamedReader& reader) {
                         absl::StrAppend(out, reader.formula);
                       });
}

}  // namespace mansard::model
