#include "calibrate/judge/place.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "calibrate/fit/fit_stacks.h"
#include "calibrate/fit/scaled_stacks.h"
#include "calibrate/tables/names.h"

namespace mansard::calibrate {
namespace {

using model::HardwareProfile;
using model::KernelStack;

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

// The first run of digits, or of anything else; `rest` loses it.
absl::string_view TakeRun(absl::string_view& rest) {
  size_t length = 1;
  while (length < rest.size() && IsDigit(rest[length]) == IsDigit(rest[0])) {
    ++length;
  }
  const absl::string_view run = rest.substr(0, length);
  rest.remove_prefix(length);
  return run;
}

// Below zero where `a` comes first. Numbers of any length.
int Compare(absl::string_view a, absl::string_view b) {
  if (!IsDigit(a[0]) || !IsDigit(b[0])) return a.compare(b);
  while (a.size() > 1 && a[0] == '0') a.remove_prefix(1);
  while (b.size() > 1 && b[0] == '0') b.remove_prefix(1);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

// The stack of an engine's newest version; null where the profile has none.
const KernelStack* NewestOf(absl::string_view engine,
                            const HardwareProfile& profile) {
  const std::string prefix = absl::StrCat(engine, "-");
  const KernelStack* newest = nullptr;
  for (const KernelStack& stack : profile.stacks()) {
    const std::string& id = stack.spec().id;
    if (!absl::StartsWith(id, prefix)) continue;
    if (newest == nullptr ||
        IsOlder(absl::StripPrefix(newest->spec().id, prefix),
                absl::StripPrefix(id, prefix))) {
      newest = &stack;
    }
  }
  return newest;
}

void ChooseStack(const std::string& framework, const std::string& version,
                 Placement& place) {
  const HardwareProfile& profile = *place.profile;
  const std::string own = StackId(framework, version);
  if (!own.empty()) {
    place.stack = profile.FindStack(own);
  } else if (const absl::string_view engine = EngineId(framework);
             !engine.empty()) {
    place.stack = NewestOf(engine, profile);
    place.stands_in = place.stack != nullptr;
  } else {
    place.stack = profile.FindStack(kDeviceStack);
  }
  if (place.stack == nullptr) place.stack = profile.FindStack("");
}

}  // namespace

bool IsOlder(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    const int order = Compare(TakeRun(a), TakeRun(b));
    if (order != 0) return order < 0;
  }
  return a.empty() && !b.empty();
}

absl::string_view UnansweredText(Unanswered reason) {
  switch (reason) {
    case Unanswered::kDevice:
      return "device not in the catalog";
    case Unanswered::kStack:
      return "no such stack";
    case Unanswered::kWork:
      return "format or kernel not served";
  }
  return "";
}

Placement PlaceOf(const std::string& device, const std::string& framework,
                  const std::string& version, const model::ShippedData& data,
                  const PlaceOptions& options) {
  std::string hardware = options.hardware;
  if (hardware.empty()) hardware = std::string(HardwareId(device));
  if (hardware.empty()) hardware = device;
  const auto profile = data.profiles.find(hardware);
  if (profile == data.profiles.end()) return {};
  Placement place{profile->second.get()};
  if (options.spec_tier) {
    place.stack = place.profile->FindStack(kScaledStack);
    if (place.stack == nullptr) place.stack = place.profile->FindStack("");
  } else if (!options.stack.empty()) {
    place.stack = place.profile->FindStack(options.stack);
  } else {
    ChooseStack(framework, version, place);
  }
  return place;
}

absl::Status CheckOptions(const model::ShippedData& data,
                          const PlaceOptions& options) {
  if (!options.hardware.empty() && data.profiles.count(options.hardware) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hardware: \"", options.hardware, "\" is not in the catalog"));
  }
  if (options.stack.empty()) return absl::OkStatus();
  std::vector<std::string> stacks;
  for (const auto& [id, profile] : data.profiles) {
    if (!options.hardware.empty() && id != options.hardware) continue;
    if (profile->FindStack(options.stack) != nullptr) return absl::OkStatus();
    for (const KernelStack& stack : profile->stacks()) {
      stacks.push_back(stack.spec().id);
    }
  }
  if (options.hardware.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "stack: no hardware in the catalog has \"", options.stack, "\""));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("stack: ", options.hardware, " has no \"", options.stack,
                   "\"; it has ", absl::StrJoin(stacks, ", ")));
}

}  // namespace mansard::calibrate
