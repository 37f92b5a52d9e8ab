// "tiled-gemm" families fitted to measured matrix products.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/fit/gemm_rows.h"
#include "calibrate/fit/map_fit.h"
#include "model/hardware/device.h"
#include "model/kernels/tiled_gemm.h"

namespace mansard::calibrate {

// What a family starts from: the priors of its parameters on the device, the
// fitted constants of the performance model's design where it has the
// architecture, with rates scaled to the device; and the configurations of the
// architecture's kernels. Precondition: the device has a rate for the format.
model::TiledGemmFamily GemmPrior(const model::Device& device,
                                 model::Format compute);

// Of the device as TimeTiledGemm takes it. Same precondition.
model::GemmMachine MachineOf(const model::Device& device,
                             model::Format compute);

model::GemmProblem ProblemOf(const GemmRow& row);

struct GemmFit {
  model::TiledGemmFamily family;
  FitResult result;
  std::vector<std::string> weak;  // Parameters left at their priors.
  size_t rows = 0;
};

// Error: as of FitMap. At most kMaxFitRows rows count, spread evenly over the
// list. The family's sigma makes p10 to p90 hold kCoverage of the residuals
// that half of the rows leave on the other half.
inline constexpr size_t kMaxFitRows = 512;
inline constexpr double kCoverage = 0.83;
absl::StatusOr<GemmFit> FitTiledGemm(const std::vector<GemmRow>& rows,
                                     const model::Device& device,
                                     model::Format compute,
                                     const model::TiledGemmFamily& prior);

}  // namespace mansard::calibrate
