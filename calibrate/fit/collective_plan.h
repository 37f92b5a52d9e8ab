// What "protocol-lines", "direct-all-reduce" and "expert-exchange" families
// start from.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"
#include "model/hardware/device.h"

namespace mansard::calibrate {

// NCCL's rows, for every stack of the device: an op kind on a tier is one fit.
// An engine's own all-reduces: for its stack, over the device's lines, which
// it falls back on. Not fitted: eager rows; nodes of Volta, on a slow network;
// on NVLink and PCIe, rows of a library without
// a version, which disagree with each other.
std::vector<FitPlan> CollectivePlans(const model::Device& device,
                                     const MeasuredCase& measured);

// Dispatches and combines, each with few tokens and with many, on a tier.
std::vector<FitPlan> ExchangePlans(const model::Device& device,
                                   const MeasuredCase& measured);

}  // namespace mansard::calibrate
