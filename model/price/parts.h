// From an op to its parts. Internal to model/price: the formulas of the general
// kernel families are in parts.cc, those of fine ones where fine_parts.h says,
// their combination in price.cc.
#pragma once

#include "model/base/units.h"
#include "model/ops/op.h"
#include "model/price/op_parts.h"

namespace mansard::model {

// Precondition: as of Price.
Parts PartsOf(const Op& op, const ResolvedHardware& hardware);

// FloorOf where the tensor work's time is known.
Seconds FloorOf(const Op& op, Seconds tensor_at_peak,
                const ResolvedHardware& hardware);

}  // namespace mansard::model
