// What mansard-calibrate run and prove do.
#pragma once

#include "absl/status/status.h"
#include "calibrate/refresh/run_options.h"

namespace mansard::calibrate {

// Measures, adding to the record where there is one, and writes the profile
// that follows from it. Progress goes to standard error, the fits to standard
// output. Error: INVALID_ARGUMENT for an option; what RunCampaign and
// FitProfile fail with: the record stays, and a later run goes on.
absl::Status RunCalibration(const RunOptions& options);

// The proof, to standard output: of the host processor end to end (a minute,
// nothing is kept), of a CUDA device on shapes that its fit did not see (a
// record in the directory is gone on with, where one is given). Error:
// FAILED_PRECONDITION where a prediction is off, or the machine too noisy to
// tell; INVALID_ARGUMENT for an option.
absl::Status RunProofCommand(const RunOptions& options);

}  // namespace mansard::calibrate
