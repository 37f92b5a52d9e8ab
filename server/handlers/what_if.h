// What-ifs of one request: what it lets them choose from, and their answer.
#pragma once

#include "absl/status/statusor.h"
#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "model/estimate/what_if.h"
#include "server/catalog/snapshot.h"

namespace mansard::server {

inline constexpr int kMaxWhatIfDevices = 100;

// Violations are at "hardware_profiles" and "device_hour_prices"; NOT_FOUND for
// a profile that the catalog does not have. Without devices it is the next one
// after `hardware`, whose price has its name or none.
absl::StatusOr<model::WhatIfChoices> ChoicesOf(
    const v1::WhatIfChoices& request, const Snapshot& snapshot,
    const model::HardwareProfile& hardware, model::Violations& violations);

}  // namespace mansard::server
