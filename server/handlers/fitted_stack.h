// The stack that a calibration has fitted, as part of a profile.
#pragma once

#include <optional>

#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/hardware_profile.h"

namespace mansard::server {

// `fitted` complete: with what its base, a stack of the profile, has beyond it.
// Violations are relative to the stack.
std::optional<v1::KernelStack> CompleteStack(
    const v1::KernelStack& fitted, const model::HardwareProfile& profile,
    model::Violations& violations);

// `stack` takes the place of the one with its id, or comes last.
void PutStack(const v1::KernelStack& stack, v1::HardwareProfile& profile);

// The largest of its families.
double MaxResidual(const v1::KernelStack& fitted);

}  // namespace mansard::server
