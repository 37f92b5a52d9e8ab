// Kernel families between their proto (formula name and parameters) and the
// typed structs of kernel_families.h.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/kernel_families.h"

namespace mansard::model {

// Every parameter of the formula must be there, once, and no other. The parts
// of an optional group (a head size, a protocol) come all or not at all, and
// at least one group is there. Tiles, splits and the like belong to the
// formulas that have them. Ranges are KernelStack::Create's matter. Empty where
// a rule is broken.
std::optional<KernelFamily> FamilyFromProto(const v1::KernelFamily& proto,
                                            Violations& violations);
v1::KernelFamily FamilyToProto(const KernelFamily& family);

// "roofline-gemm".
absl::string_view FormulaOf(const KernelFamily& family);
// All formulas, for error messages.
std::string FormulaNames();

}  // namespace mansard::model
