// Rules on what a caller would have otherwise than the stack. Internal to
// model/estimate.
#pragma once

#include "model/base/violations.h"
#include "model/estimate/target_spec.h"
#include "model/hardware/kernel_stack.h"
#include "model/workload/layout.h"

namespace mansard::model {

// Violations are below "overlap".
void CheckOverlap(const Overlap& overlap, const TargetSpec& spec,
                  Violations& violations);

// On the tensor ranks, whose all-reduces all layers have: some buffer up to
// 1 TB is reduced as the spec asks. Violations are at "all_reduce_algorithm".
// Precondition: the stack has collectives on the layout's tiers.
void CheckAllReduce(const TargetSpec& spec, const Layout& layout,
                    Violations& violations);

// All tiled products with this tile alone.
void ForceTile(const GemmTile& tile, KernelStackSpec& stack);

}  // namespace mansard::model
