// Measured kernels on the hierarchical roofline, as a picture.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/kernel_models.h"
#include "model/hardware/device.h"

namespace mansard::calibrate {

// Kernels that the picture shows: those with the most time.
inline constexpr size_t kMostDrawnKernels = 16;

// A document of its own: the device's datasheet roofs, each kernel with known
// work as a dot for every level whose bytes are known, the model's as a diamond
// beside it, and the numbers below. Light or dark by the reader's preference.
// The same kernels give the same bytes. Error: FAILED_PRECONDITION where no
// kernel has work and bytes of a level.
absl::StatusOr<std::string> RooflineSvg(
    const std::vector<JudgedKernel>& kernels, const model::Device& device,
    absl::string_view title);

}  // namespace mansard::calibrate
