#include "clients/cli/commands/what_if_request.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command_status.h"

namespace mansard::cli {
namespace {

std::string ProfileName(absl::string_view id) {
  return absl::StrContains(id, '/') ? std::string(id)
                                    : absl::StrCat("hardwareProfiles/", id);
}

absl::Status AddPrice(absl::string_view entry, v1::WhatIfChoices* choices) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(entry, absl::MaxSplits('=', 1));
  const bool named = absl::StrContains(entry, '=');
  const std::string& text = named ? parts.second : parts.first;
  double price = 0;
  if (!absl::SimpleAtod(text, &price) || !std::isfinite(price) || price < 0) {
    return UsageError(
        absl::StrCat("--price-per-hour is \"", entry,
                     "\"; allowed: a price of one device, or ID=PRICE,..."));
  }
  const std::string name = named ? ProfileName(parts.first) : "";
  if (!choices->mutable_device_hour_prices()->insert({name, price}).second) {
    return UsageError(
        absl::StrCat("--price-per-hour names \"", parts.first, "\" twice"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::WhatIfChoices> WhatIfChoicesOf(const EstimateFlags& flags) {
  if (!flags.what_if) {
    for (const auto& [name, value] :
         {std::pair<const char*, const std::string&>{"--what-if-hardware",
                                                     flags.what_if_hardware},
          {"--price-per-hour", flags.price_per_hour}}) {
      if (!value.empty()) {
        return UsageError(absl::StrCat(name, " is given without --what-if"));
      }
    }
  }
  v1::WhatIfChoices choices;
  for (const absl::string_view id :
       absl::StrSplit(flags.what_if_hardware, ',', absl::SkipEmpty())) {
    choices.add_hardware_profiles(ProfileName(id));
  }
  for (const absl::string_view entry :
       absl::StrSplit(flags.price_per_hour, ',', absl::SkipEmpty())) {
    absl::Status added = AddPrice(entry, &choices);
    if (!added.ok()) return added;
  }
  return choices;
}

}  // namespace mansard::cli
