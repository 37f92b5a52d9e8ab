// What engines' hosts add to a step.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::calibrate {

// Of the engine of a stack's id ("vllm-0.24"), on any device; empty where the
// stack is no engine's.
std::optional<model::HostCost> EngineHostCost(absl::string_view stack);

}  // namespace mansard::calibrate
