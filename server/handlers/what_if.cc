#include "server/handlers/what_if.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/catalog/resource_name.h"

namespace mansard::server {
namespace {

void TakePrices(const v1::WhatIfChoices& request,
                const model::HardwareProfile& hardware,
                model::WhatIfChoices& choices, model::Violations& violations) {
  for (const auto& [name, price] : request.device_hour_prices()) {
    const std::string field =
        absl::StrCat("device_hour_prices[\"", name, "\"]");
    if (!std::isfinite(price) || price < 0) {
      violations.Add(field, absl::StrCat("is ", price, "; allowed: 0 or more"));
    }
    if (name.empty()) {
      choices.device_hour_prices[hardware.id()] = price;
      continue;
    }
    const auto id =
        ParseResourceName(name, kHardwareProfiles, field, violations);
    if (id.has_value()) choices.device_hour_prices[*id] = price;
  }
}

absl::Status TakeDevices(const v1::WhatIfChoices& request,
                         const Snapshot& snapshot,
                         model::WhatIfChoices& choices,
                         model::Violations& violations) {
  violations.CheckRange("hardware_profiles", request.hardware_profiles_size(),
                        0, kMaxWhatIfDevices);
  absl::Status first_error;
  for (int i = 0; i < request.hardware_profiles_size(); ++i) {
    const auto id = ParseResourceName(
        request.hardware_profiles(i), kHardwareProfiles,
        model::Indexed("hardware_profiles", static_cast<size_t>(i)),
        violations);
    if (!id.has_value()) continue;
    const absl::StatusOr<const ProfileEntry*> entry = snapshot.FindProfile(*id);
    if (entry.ok()) {
      choices.devices.push_back((*entry)->profile);
    } else if (first_error.ok()) {
      first_error = entry.status();
    }
  }
  return first_error;
}

}  // namespace

absl::StatusOr<model::WhatIfChoices> ChoicesOf(
    const v1::WhatIfChoices& request, const Snapshot& snapshot,
    const model::HardwareProfile& hardware, model::Violations& violations) {
  model::WhatIfChoices choices;
  TakePrices(request, hardware, choices, violations);
  const absl::Status found =
      TakeDevices(request, snapshot, choices, violations);
  if (!found.ok()) return found;
  if (request.hardware_profiles().empty()) {
    std::vector<std::shared_ptr<const model::HardwareProfile>> all;
    for (const auto& [id, entry] : snapshot.profiles()) {
      if (entry->profile != nullptr) all.push_back(entry->profile);
    }
    if (auto next = model::NextDevice(hardware, all)) {
      choices.devices.push_back(std::move(next));
    }
  }
  for (const auto& [id, fabric] : snapshot.fabrics()) {
    choices.fabrics.push_back(&fabric);
  }
  return choices;
}

}  // namespace mansard::server
