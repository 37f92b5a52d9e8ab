// What "roofline-elementwise" families of one kind of kernel start from.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"
#include "model/hardware/device.h"

namespace mansard::calibrate {

// Norms, activations, rotary embeddings, residuals and lookups. Tables of a
// profiler that ran no engine are the device's, for all of its stacks.
std::vector<FitPlan> ElementwisePlans(const model::Device& device,
                                      const MeasuredCase& measured);

}  // namespace mansard::calibrate
