#include "server/handlers/hardware_choice.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/io/format_io.h"
#include "model/io/profile_io.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"

namespace mansard::server {

absl::StatusOr<Found<model::HardwareProfile>> FindProfile(
    const Snapshot& snapshot, const v1::Target& target,
    model::Violations& violations) {
  Found<model::HardwareProfile> found;
  switch (target.hardware_case()) {
    case v1::Target::kHardwareProfile: {
      const auto id =
          ParseResourceName(target.hardware_profile(), kHardwareProfiles,
                            "hardware_profile", violations);
      if (!id.has_value()) return found;
      ASSIGN_OR_RETURN(const ProfileEntry* entry, snapshot.FindProfile(*id));
      found.value = entry->profile;
      found.revision = absl::StrCat(ResourceName(kHardwareProfiles, *id), "@",
                                    entry->proto.revision_id());
      return found;
    }
    case v1::Target::kInlineHardwareProfile: {
      const model::Violations::Scope scope(violations,
                                           "inline_hardware_profile");
      std::optional<model::HardwareProfile> profile = model::ProfileFromProto(
          target.inline_hardware_profile(), "", snapshot.fabrics(), violations);
      if (!profile.has_value()) return found;
      found.revision = absl::StrCat(
          "inline@", model::ProfileToProto(*profile).revision_id());
      found.value =
          std::make_shared<const model::HardwareProfile>(*std::move(profile));
      return found;
    }
    case v1::Target::HARDWARE_NOT_SET:
      violations.Add(
          "hardware_profile",
          "is required: hardwareProfiles/{id}, or inline_hardware_profile");
      return found;
  }
  return found;
}

absl::Status FindParts(const v1::Target& target, model::TargetSpec& spec) {
  spec.stack = spec.hardware->FindStack(target.kernel_stack());
  if (spec.stack == nullptr) {
    return KernelStackNotFound(
        target.kernel_stack(),
        StackIds(*spec.hardware, [](const auto&) { return true; }));
  }
  spec.fabric = spec.hardware->FindFabric(target.fabric());
  if (spec.fabric == nullptr) {
    std::vector<std::string> known;
    for (const model::Fabric& fabric : spec.hardware->fabrics()) {
      known.push_back(fabric.spec().id);
    }
    return FabricNotFound(target.fabric(), known);
  }
  return absl::OkStatus();
}

std::vector<std::string> StackIds(
    const model::HardwareProfile& hardware,
    absl::FunctionRef<bool(const model::KernelStack&)> chosen) {
  std::vector<std::string> ids;
  for (const model::KernelStack& stack : hardware.stacks()) {
    if (chosen(stack)) ids.push_back(stack.spec().id);
  }
  return ids;
}

void TakeFormats(const v1::Precision& precision, model::TargetSpec& spec,
                 model::Violations& violations) {
  spec.weights = model::FormatFromProto(precision.weights(),
                                        "precision.weights", violations);
  spec.activations = model::FormatFromProto(
      precision.activations(), "precision.activations", violations);
  spec.kv_cache = model::FormatFromProto(precision.kv_cache(),
                                         "precision.kv_cache", violations);
  spec.state =
      model::FormatFromProto(precision.state(), "precision.state", violations);
  std::set<model::LinearClass> seen;
  for (int i = 0; i < precision.linear_precisions_size(); ++i) {
    const model::Violations::Scope scope(
        violations,
        model::Indexed("precision.linear_precisions", static_cast<size_t>(i)));
    const v1::LinearPrecision& one = precision.linear_precisions(i);
    const auto linear = model::LinearClassFromProto(one, violations);
    const auto weights =
        model::FormatFromProto(one.weights(), "weights", violations);
    const auto activations =
        model::FormatFromProto(one.activations(), "activations", violations);
    if (one.weights().empty() && one.activations().empty()) {
      violations.Add("weights", "is required, or activations");
    }
    if (!linear.has_value()) continue;
    if (!seen.insert(*linear).second) {
      violations.Add("linear_class",
                     absl::StrCat("\"", one.linear_class(), "\" stands twice"));
    }
    spec.linears.push_back({*linear, weights, activations});
  }
}

}  // namespace mansard::server
