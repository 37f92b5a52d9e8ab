// Kernel stacks of engines as they serve: kernels in one consistent set for all
// devices, the engine's own all-reduce, its costs fitted to runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/hardware/hardware_profile.h"
#include "model/io/derived_stack.h"

namespace mansard::calibrate {

// "vLLM" -> "served-vllm"; empty for frameworks that are no engine.
std::string ServedStackId(absl::string_view framework);

// The stack that a served one stands on: what is measured of the device
// itself, else its first one. Runs are told better by it, with the costs
// fitted, than by the engines' own kernel tables, whose errors differ from
// device to device and format to format.
const model::KernelStack& ServedBase(const model::HardwareProfile& profile);

// Families over the base: all-reduce by the engine's kernels. By constants of
// the design (performance model, collectives), whatever the device's own
// tables say, of the generations that it has them for.
std::vector<model::BoundFamily> ServedFamilies(
    const model::HardwareProfile& profile, absl::string_view framework);

// The stack without costs: what costs are fitted over.
std::optional<model::KernelStack> UnfittedServedStack(
    const model::HardwareProfile& profile, absl::string_view framework);

// The share of the memory that the engine uses, of runs that were measured.
double MemoryShareOf(absl::string_view framework);
// Tokens of one pass.
int64_t TokenBudgetOf(absl::string_view framework);

}  // namespace mansard::calibrate
