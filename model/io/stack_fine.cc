#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include "model/base/format.h"
#include "model/hardware/fine_slots.h"
#include "model/io/family_io.h"
#include "model/io/stack_bindings.h"

namespace mansard::model {
namespace {

// A case of a table: the op kind that its bindings name, and their key.
struct Case {
  std::string op_kind;
  std::string key;
};

template <class Slot>
Case CaseOf(const Slot& slot, size_t index) {
  switch (slot.key) {
    case SlotKey::kFormat:
      return {slot.op_kind,
              std::string(TraitsOf(static_cast<Format>(index)).name)};
    case SlotKey::kTier:
      return {slot.op_kind,
              std::string(LinkTierName(static_cast<LinkTier>(index)))};
    case SlotKey::kUse:
      return {
          std::string(ElementwiseUseName(static_cast<ElementwiseUse>(index))),
          ""};
  }
  return {};
}

}  // namespace

void BindFine(const Bindings& bindings, FamilyMap& families,
              FineFamilies& fine) {
  VisitFine([&](const auto& slot) {
    auto& table = fine.*slot.member;
    using Table = std::remove_reference_t<decltype(table)>;
    using Family = typename Table::Family;
    for (size_t i = 0; i < Table::kCases; ++i) {
      const Case one = CaseOf(slot, i);
      const std::string* id = bindings.Find(one.op_kind, one.key);
      if (id == nullptr) continue;
      NamedFamily& named = families.find(*id)->second;
      // A general family of the same op kind is no finer one.
      const auto* family = std::get_if<Family>(&named.family);
      if (family == nullptr) continue;
      named.used = true;
      table.Bind(i, *family);
    }
  });
}

void AddFine(const FineFamilies& fine, v1::KernelStack& proto) {
  std::set<std::string> written;
  for (const auto& family : proto.families()) written.insert(family.family());
  VisitFine([&](const auto& slot) {
    const auto& table = fine.*slot.member;
    using Table = std::remove_cvref_t<decltype(table)>;
    for (size_t i = 0; i < Table::kCases; ++i) {
      const auto* family = table.For(i);
      if (family == nullptr) continue;
      const Case one = CaseOf(slot, i);
      auto& binding = *proto.add_bindings();
      binding.set_op_kind(one.op_kind);
      if (slot.key == SlotKey::kFormat) binding.set_precision(one.key);
      if (slot.key == SlotKey::kTier) binding.set_tier(one.key);
      binding.set_family(family->facts.id);
      if (written.insert(family->facts.id).second) {
        *proto.add_families() = FamilyToProto(*family);
      }
    }
  });
}

}  // namespace mansard::model
