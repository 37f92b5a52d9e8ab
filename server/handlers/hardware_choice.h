// The hardware half of a target: what a request names, looked up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mansard/v1/estimation_service.pb.h"
#include "model/base/violations.h"
#include "model/estimate/estimate.h"
#include "server/catalog/snapshot.h"

namespace mansard::server {

// A graph or profile with the revision to show. `value` is null where the
// request breaks a rule.
template <class T>
struct Found {
  std::shared_ptr<const T> value;
  std::string revision;
};

// NOT_FOUND for an id that the catalog does not have. Violations are at
// "hardware_profile" and below "inline_hardware_profile".
absl::StatusOr<Found<model::HardwareProfile>> FindProfile(
    const Snapshot& snapshot, const v1::Target& target,
    model::Violations& violations);

// The stack and the fabric of spec.hardware that the target names; NOT_FOUND
// where the profile has none of that id.
absl::Status FindParts(const v1::Target& target, model::TargetSpec& spec);

// Of the profile's stacks that `chosen` says yes to, in their order.
std::vector<std::string> StackIds(
    const model::HardwareProfile& hardware,
    absl::FunctionRef<bool(const model::KernelStack&)> chosen);

// Violations are below "precision".
void TakeFormats(const v1::Precision& precision, model::TargetSpec& spec,
                 model::Violations& violations);

}  // namespace mansard::server
