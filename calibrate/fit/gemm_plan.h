// What "tiled-gemm" families start from.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"
#include "model/hardware/device.h"
#include "model/hardware/kernel_families.h"

namespace mansard::calibrate {

// The priors of a family's parameters on the device: the fitted constants of
// the performance model's design where it has the architecture, rates scaled to
// the device; and the configurations of the architecture's kernels.
model::TiledGemmFamily GemmPrior(const model::Device& device);

// Products without, and with, the quantisation of their input, in formats that
// the tensor units run. Two plans where libraries choose among few tiles and do
// not split k.
std::vector<FitPlan> GemmPlans(const model::Device& device,
                               const MeasuredCase& measured);

}  // namespace mansard::calibrate
