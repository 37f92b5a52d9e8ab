// A CUDA record -> a device profile that predicts with what was measured.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/measure/record.h"
#include "calibrate/refresh/fit_profile.h"
#include "calibrate/tables/measured_case.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

struct CudaFit {
  // The stack is kCalibratedStack, on the generic one of the hardware.
  RefreshedProfile refreshed;
  // What is left as the generic stack has it: the plan, and why.
  std::vector<std::string> unfitted;
};

struct CudaFitOptions {
  // Rows of products and attention on the held-out side are not fitted.
  bool hold_out = false;
  // Fits of resampled rows, which give parameters their p10 and p90.
  int draws = 12;
};

// Whether the fit does not see the row.
bool IsHeldOut(const MeasuredCase& row, const CudaFitOptions& options);

// Families by the plans of measured tables (calibrate/fit/plans.h), each to the
// rows of its formats; rows that gates name are said, and dropped as they say.
// Error: FAILED_PRECONDITION, no hardware for the record (see CudaHardware) or
// nothing to fit; INVALID_ARGUMENT, a record of another backend; a fit's.
absl::StatusOr<CudaFit> FitCudaProfile(const Record& record,
                                       const model::ShippedData& data,
                                       const CudaFitOptions& options);

// The profile as a file, as ProfileText.
std::string CudaProfileText(const CudaFit& fit, const Record& record);

}  // namespace mansard::calibrate
