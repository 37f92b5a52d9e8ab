// What kind of work an op is to an engine's costs.
#pragma once

#include "model/hardware/engine_costs.h"
#include "model/ops/op.h"

namespace mansard::model {

// Of kind and shape alone: ops that are priced alike are of one group.
OpGroup OpGroupOf(const Op& op);

}  // namespace mansard::model
