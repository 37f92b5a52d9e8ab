#include "model/graph/hf_families.h"

#include "absl/strings/str_split.h"

namespace mansard::model {
namespace {

template <typename Visit>
void VisitFamilies(Visit visit) {
  for (const absl::Span<const HfFamily> rows :
       {DenseFamilies(), OlderFamilies(), ExpertFamilies(),
        RecurrentFamilies()}) {
    for (const HfFamily& family : rows) visit(family);
  }
}

}  // namespace

bool HasName(absl::string_view names, absl::string_view name) {
  if (name.empty()) return false;
  while (!names.empty()) {
    const size_t end = names.find('|');
    if (names.substr(0, end) == name) return true;
    if (end == absl::string_view::npos) return false;
    names.remove_prefix(end + 1);
  }
  return false;
}

const HfFamily* FamilyOfArchitecture(absl::string_view architecture) {
  const HfFamily* found = nullptr;
  VisitFamilies([&](const HfFamily& family) {
    if (HasName(family.architectures, architecture)) found = &family;
  });
  return found;
}

const HfFamily* FamilyOfModelType(absl::string_view model_type) {
  const HfFamily* found = nullptr;
  VisitFamilies([&](const HfFamily& family) {
    if (HasName(family.model_types, model_type)) found = &family;
  });
  return found;
}

std::vector<std::string> AllArchitectures() {
  std::vector<std::string> names;
  VisitFamilies([&](const HfFamily& family) {
    for (absl::string_view name : absl::StrSplit(family.architectures, '|')) {
      names.emplace_back(name);
    }
  });
  return names;
}

}  // namespace mansard::model
