// What mansard-calibrate run and prove do.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace mansard::calibrate {

struct RunOptions {
  std::string backend;    // "cpu".
  std::string directory;  // Of the record and the profile.
  double budget_seconds = 600;
};

// In the directory.
inline constexpr char kRecordFile[] = "samples.jsonl";
inline constexpr char kProfileFile[] = "profile.textproto";

// Measures, adding to the record where there is one, and writes the profile
// that follows from it. Progress goes to standard error, the fits to standard
// output. Error: INVALID_ARGUMENT for an option; what RunCampaign and
// FitProfile fail with: the record stays, and a later run goes on.
absl::Status RunCalibration(const RunOptions& options);

// The end-to-end proof on the host processor, to standard output. Error:
// FAILED_PRECONDITION where a prediction is off, or the machine too noisy to
// tell.
absl::Status RunProofCommand();

}  // namespace mansard::calibrate
