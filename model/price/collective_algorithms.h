// Which algorithms there are for a collective.
#pragma once

#include <vector>

#include "model/hardware/collective_algorithm.h"
#include "model/ops/op.h"
#include "model/price/hardware_view.h"

namespace mansard::model {

// The algorithms that stack and ranks have for the op and its buffer, in the
// order of the enumeration. Precondition: a collective or an exchange that the
// stack serves.
std::vector<CollectiveAlgorithm> AlgorithmsFor(const Op& op,
                                               const HardwareView& hardware);

}  // namespace mansard::model
