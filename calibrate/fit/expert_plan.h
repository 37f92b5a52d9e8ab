// What "expert-gemm" families and the element-wise family of a layer of experts
// start from.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "calibrate/fit/family_fit.h"
#include "model/hardware/device.h"
#include "model/hardware/kernel_families.h"

namespace mansard::calibrate {

// Where a fit starts: kernels tuned for the device, general ones that a
// compiler made, and ones that do not overlap their loads.
enum class ExpertStart { kTuned, kCompiled, kSerial };

// Priors of the parameters on the device, its generation's: what fits to the
// public tables' fitted halves have in common. Without ids.
model::ExpertGemmFamily ExpertGemmPrior(const model::Device& device,
                                        ExpertStart start);
model::ElementwiseFamily ExpertElementwisePrior(const model::Device& device);

// Of the rows whose experts other ranks hold, the share that an engine's
// element-wise kernels of the experts pass over all the same. From the same
// fits; a stack has one for all its formats.
double ForeignExpertRows(const model::Device& device,
                         absl::string_view framework);

// One plan a start, for the formats of experts' weights with the activations
// that engines run them with, the kernels that most rows have.
std::vector<FitPlan> ExpertPlans(const model::Device& device,
                                 const MeasuredCase& measured);

}  // namespace mansard::calibrate
