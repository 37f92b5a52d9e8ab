#include "model/io/stack_bindings.h"

#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/hardware/fine_slots.h"
#include "model/io/family_io.h"
#include "model/io/graph_io.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

// What an op kind's bindings may be keyed by, and what serves it.
enum class Key { kNone, kFormat, kTier };
struct Kind {
  Key key = Key::kNone;
  bool required = false;
  // Of a binding without a key, and of one with.
  bool (*serves)(const KernelFamily&) = nullptr;
  bool (*serves_key)(const KernelFamily&) = nullptr;
};

template <class Family>
bool Is(const KernelFamily& family) {
  return std::holds_alternative<Family>(family);
}

std::map<std::string, Kind> MakeKinds() {
  std::map<std::string, Kind> kinds;
  const auto gemm = &Is<GemmFamily>;
  kinds[kGemm] = {Key::kFormat, true, gemm, gemm};
  kinds[kDecode] = {Key::kFormat, true, &Is<DecodeAttentionFamily>, nullptr};
  kinds[kPrefill] = {Key::kFormat, true, &Is<PrefillAttentionFamily>, nullptr};
  kinds[kElementwise] = {Key::kNone, true, &Is<ElementwiseFamily>, nullptr};
  kinds[kCollective] = {Key::kTier, false, &Is<CollectiveFamily>,
                        &Is<CollectiveFamily>};
  VisitFine([&](const auto& slot) {
    using Table =
        std::remove_reference_t<decltype(FineFamilies{}.*slot.member)>;
    const auto serves = &Is<typename Table::Family>;
    if (slot.key == SlotKey::kUse) {
      for (int use = 0; use < kElementwiseUseCount; ++use) {
        kinds[std::string(ElementwiseUseName(static_cast<ElementwiseUse>(
            use)))] = {Key::kNone, false, serves, nullptr};
      }
      return;
    }
    Kind& kind = kinds[slot.op_kind];
    kind.key = slot.key == SlotKey::kTier ? Key::kTier : Key::kFormat;
    kind.serves_key = serves;
    if (kind.serves == nullptr) kind.serves = serves;
  });
  return kinds;
}

const std::map<std::string, Kind>& Kinds() {
  static const auto& kinds = *new std::map<std::string, Kind>(MakeKinds());
  return kinds;
}

std::string KindNames() {
  return absl::StrJoin(Kinds(), ", ", [](std::string* out, const auto& kind) {
    absl::StrAppend(out, kind.first);
  });
}

std::string KindsWith(Key key) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : Kinds()) {
    if (kind.key == key) names.push_back(absl::StrCat("\"", name, "\""));
  }
  return absl::StrJoin(names, ", ");
}

// `ids` gets every id, also of families that could not be read.
FamilyMap ReadFamilies(const v1::KernelStack& proto, std::set<std::string>& ids,
                       Violations& violations) {
  FamilyMap families;
  for (int i = 0; i < proto.families_size(); ++i) {
    Violations::Scope scope(violations,
                            Indexed("families", static_cast<size_t>(i)));
    const std::string& id = proto.families(i).family();
    if (!ids.insert(id).second) {
      violations.Add("family", absl::StrCat("\"", id, "\" is there already"));
      continue;
    }
    std::optional<KernelFamily> family =
        FamilyFromProto(proto.families(i), violations);
    if (family) families.emplace(id, NamedFamily{*std::move(family), i});
  }
  return families;
}

// The key of a binding, in canonical spelling; empty optional where it breaks
// a rule.
std::optional<std::string> BindingKey(const v1::KernelStack::Binding& binding,
                                      Violations& violations) {
  const size_t before = violations.all().size();
  std::string key;
  const Key allowed = Kinds().at(binding.op_kind()).key;
  if (!binding.precision().empty()) {
    if (allowed != Key::kFormat) {
      violations.Add("precision", absl::StrCat("is only for op_kind ",
                                               KindsWith(Key::kFormat)));
    } else if (const std::optional<Format> format = FormatFromProto(
                   binding.precision(), "precision", violations)) {
      key = std::string(TraitsOf(*format).name);
    }
  }
  if (!binding.tier().empty()) {
    if (allowed != Key::kTier) {
      violations.Add(
          "tier", absl::StrCat("is only for op_kind ", KindsWith(Key::kTier)));
    } else if (!ParseLinkTier(binding.tier())) {
      violations.Add("tier", absl::StrCat("\"", binding.tier(),
                                          "\" is unknown; known: nvlink, "
                                          "pcie, rdma"));
    } else {
      key = binding.tier();
    }
  }
  if (violations.all().size() != before) return std::nullopt;
  return key;
}

// Whether the binding's family exists and fits its op kind.
void CheckBoundFamily(const v1::KernelStack::Binding& binding,
                      const FamilyMap& families,
                      const std::set<std::string>& ids,
                      Violations& violations) {
  if (ids.count(binding.family()) == 0) {
    violations.Add("family", absl::StrCat("\"", binding.family(),
                                          "\" is no family of this stack; it "
                                          "has ",
                                          absl::StrJoin(ids, ", ")));
    return;
  }
  const auto bound = families.find(binding.family());
  // A family that could not be read has its own violations.
  if (bound == families.end()) return;
  const Kind& kind = Kinds().at(binding.op_kind());
  const bool keyed = !binding.precision().empty() || !binding.tier().empty();
  const auto serves =
      keyed && kind.serves_key != nullptr ? kind.serves_key : kind.serves;
  if (!serves(bound->second.family)) {
    violations.Add("family",
                   absl::StrCat("\"", binding.family(), "\" has formula ",
                                FormulaOf(bound->second.family),
                                ", which does not serve op_kind \"",
                                binding.op_kind(), keyed ? "\" by " : "\"",
                                binding.precision(), binding.tier()));
  }
}

Bindings ReadBindings(const v1::KernelStack& proto, const FamilyMap& families,
                      const std::set<std::string>& ids,
                      Violations& violations) {
  Bindings bindings;
  for (int i = 0; i < proto.bindings_size(); ++i) {
    Violations::Scope scope(violations,
                            Indexed("bindings", static_cast<size_t>(i)));
    const auto& binding = proto.bindings(i);
    const std::string& kind = binding.op_kind();
    if (Kinds().count(kind) == 0) {
      violations.Add(
          "op_kind",
          absl::StrCat("\"", kind, "\" is unknown; known: ", KindNames()));
      continue;
    }
    CheckBoundFamily(binding, families, ids, violations);
    const std::optional<std::string> key = BindingKey(binding, violations);
    if (!key) continue;
    if (!bindings.by_op_kind[kind].emplace(*key, binding.family()).second) {
      violations.Add("", absl::StrCat("op_kind \"", kind, "\"",
                                      key->empty() ? "" : " for ", *key,
                                      " is bound already"));
    }
  }
  for (const auto& [name, kind] : Kinds()) {
    if (kind.required && bindings.FindOwn(name, "") == nullptr &&
        (kind.serves_key != kind.serves ||
         bindings.by_op_kind.count(name) == 0)) {
      violations.Add("bindings",
                     absl::StrCat("has none of op_kind \"", name, "\""));
    }
  }
  return bindings;
}

}  // namespace

const std::string* Bindings::FindOwn(const std::string& op_kind,
                                     const std::string& key) const {
  const auto op = by_op_kind.find(op_kind);
  if (op == by_op_kind.end()) return nullptr;
  const auto found = op->second.find(key);
  return found == op->second.end() ? nullptr : &found->second;
}

const std::string* Bindings::Find(const std::string& op_kind,
                                  const std::string& key) const {
  const std::string* own = FindOwn(op_kind, key);
  return own != nullptr ? own : FindOwn(op_kind, "");
}

StackParts ReadStackParts(const v1::KernelStack& proto,
                          Violations& violations) {
  std::set<std::string> ids;
  StackParts parts;
  parts.families = ReadFamilies(proto, ids, violations);
  parts.bindings = ReadBindings(proto, parts.families, ids, violations);
  return parts;
}

}  // namespace mansard::model
