// Collectives and exchanges of experts' tokens as kernels.
#pragma once

#include "model/base/violations.h"
#include "model/estimate/kernel_spec.h"
#include "model/lower/pass_formats.h"
#include "model/ops/op.h"
#include "model/price/hardware_view.h"

namespace mansard::model {

// As CheckKernel; violations are below "collective".
void CheckCollective(const CollectiveKernel& kernel, const Fabric* fabric,
                     Violations& violations);

// Nodes that the ranks lie in. Precondition: CheckCollective adds nothing.
int NodesOf(const CollectiveKernel& kernel, const Fabric& fabric);
// Where the ranks meet. Precondition: likewise.
LinkTier TierOf(const CollectiveKernel& kernel, const Fabric& fabric);

// Precondition: likewise.
Op CollectiveKernelOp(const CollectiveKernel& kernel, const Fabric& fabric,
                      const PassFormats& formats);

// At "collective.algorithm", with those that there are, where neither the stack
// nor the ranks have the one that is asked for.
void CheckAlgorithm(const CollectiveKernel& kernel, const Op& op,
                    const HardwareView& view, Violations& violations);

}  // namespace mansard::model
