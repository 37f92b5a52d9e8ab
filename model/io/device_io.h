// Device between its proto and the domain.
#pragma once

#include <optional>

#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/device.h"

namespace mansard::model {

std::optional<Device> DeviceFromProto(const v1::Device& proto,
                                      Violations& violations);
v1::Device DeviceToProto(const Device& device);

}  // namespace mansard::model
