// A kernel that belongs to no model: the rules on it, and its ops.
#pragma once

#include "absl/status/statusor.h"
#include "model/base/violations.h"
#include "model/estimate/formats.h"
#include "model/estimate/kernel_spec.h"
#include "model/ops/op.h"

namespace mansard::model {

// Every rule on the kernel's own sizes; see EstimateKernel. `fabric`: null
// where it is not known; ranks are then only checked to be two or more.
void CheckKernel(const KernelWork& work, const Fabric* fabric,
                 Violations& violations);

// The formats that the kernel needs; FAILED_PRECONDITION where they cannot be
// priced. Collectives and element-wise work need no tensor unit.
absl::StatusOr<ResolvedFormats> FormatsOf(const KernelSpec& spec);

// One op a group: the attention kinds but cross-attention, as in a model.
// Precondition: CheckKernel adds nothing.
OpList AttentionKernelOps(const AttentionKernel& kernel,
                          const PassFormats& formats, bool unfused);

// Precondition: CheckKernel adds nothing.
OpList KernelOps(const KernelSpec& spec, const PassFormats& formats);

}  // namespace mansard::model
