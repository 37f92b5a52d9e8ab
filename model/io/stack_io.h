// KernelStack between its proto and the domain.
#pragma once

#include <optional>

#include "mansard/v1/catalog.pb.h"
#include "model/base/violations.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::model {

// Bindings are resolved: every op kind but "collective"
// needs one, and every family must have work. No base stack: see
// derived_stack.h.
std::optional<KernelStack> KernelStackFromProto(const v1::KernelStack& proto,
                                                Violations& violations);
// In canonical form: the GEMM family that serves the most formats is bound
// without a precision when every format has a family.
v1::KernelStack KernelStackToProto(const KernelStack& stack);
v1::HostCost HostToProto(const HostCost& host);

}  // namespace mansard::model
