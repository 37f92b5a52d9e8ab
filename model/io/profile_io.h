// HardwareProfile and Fabric between their protos and the domain. The only
// door for hardware.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/hardware_profile.h"

namespace mansard::model {

using FabricMap = std::map<std::string, Fabric>;

std::optional<Fabric> FabricFromProto(const v1::Fabric& proto,
                                      Violations& violations);
v1::Fabric FabricToProto(const Fabric& fabric);

// `shipped` resolves fabric_ids. Every parameter of a family's formula must be
// there, once, and no other. Without kernel_stacks the profile gets the generic
// one (model/hardware/default_stack.h).
std::optional<HardwareProfile> ProfileFromProto(
    const v1::HardwareProfile& proto, absl::string_view id,
    const FabricMap& shipped, Violations& violations);
// Complete: fabrics resolved, revision set; `name` only when there is an id.
v1::HardwareProfile ProfileToProto(const HardwareProfile& profile);

}  // namespace mansard::model
