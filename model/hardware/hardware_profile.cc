#include "model/hardware/hardware_profile.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

template <class T>
void CheckUniqueIds(absl::string_view field, const std::vector<T>& items,
                    Violations& violations) {
  if (items.empty()) {
    violations.Add(field, "is empty; at least one is needed");
  }
  std::set<std::string> ids;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string& id = items[i].spec().id;
    if (!ids.insert(id).second) {
      violations.Add(Indexed(field, i),
                     absl::StrCat("\"", id, "\" is there already"));
    }
  }
}

template <class T>
const T* FindById(const std::vector<T>& items, absl::string_view id) {
  if (id.empty()) return &items.front();
  for (const T& item : items) {
    if (item.spec().id == id) return &item;
  }
  return nullptr;
}

}  // namespace

std::optional<HardwareProfile> HardwareProfile::Create(
    std::string id, std::string display_name, Device device,
    std::vector<Fabric> fabrics, std::vector<KernelStack> stacks,
    Violations& violations) {
  const size_t before = violations.all().size();
  CheckUniqueIds("fabrics", fabrics, violations);
  CheckUniqueIds("kernel_stacks", stacks, violations);
  if (violations.all().size() != before) return std::nullopt;
  return HardwareProfile(std::move(id), std::move(display_name),
                         std::move(device), std::move(fabrics),
                         std::move(stacks));
}

const Fabric* HardwareProfile::FindFabric(absl::string_view id) const {
  return FindById(fabrics_, id);
}

const KernelStack* HardwareProfile::FindStack(absl::string_view id) const {
  return FindById(stacks_, id);
}

}  // namespace mansard::model
