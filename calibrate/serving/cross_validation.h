// How right engines' costs are on runs that their fit did not see.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/judge/errors.h"
#include "calibrate/serving/cost_fit.h"
#include "calibrate/serving/served_run.h"

namespace mansard::calibrate {

struct RunPrediction {
  double tpot_ms = 0;
  double ttft_ms = 0;
};
RunPrediction PredictRun(const ServedRun& run, const model::EngineCosts& costs);

// By run; for core runs each from a fit without the run's own part, for others
// from a fit to all core runs without that part.
struct CrossValidation {
  std::vector<RunPrediction> unfitted;
  std::vector<RunPrediction> in_sample;      // Fitted to all core runs.
  std::vector<RunPrediction> configuration;  // Left out: a fifth of all
                                             // configurations, by hash;
  std::vector<RunPrediction> model;          // the model family;
  std::vector<RunPrediction> device;         // the device.
  // `model`, with the deployment's own factors (model::OwnFactors) from three
  // of its runs.
  std::vector<RunPrediction> three_rows;
  // Of runs with a factor that did not make it; where false, three_rows is
  // model.
  std::vector<bool> has_factor;
};
absl::StatusOr<CrossValidation> CrossValidate(
    const std::vector<ServedRun>& runs, const LinearFitOptions& options);

inline constexpr size_t kFactorRuns = 3;

enum class ServedTime { kTpot, kTtft };
// Errors over the runs that count. Of times to the first token, runs with
// start-up in them do not where `without_start_up`.
Errors ErrorsOf(const std::vector<ServedRun>& runs,
                const std::vector<RunPrediction>& predictions, ServedTime time,
                const std::function<bool(size_t run)>& counts);
// Predicted over measured of the same, p10 and p90.
model::RatioRange RangeOf(const std::vector<ServedRun>& runs,
                          const std::vector<RunPrediction>& predictions,
                          ServedTime time,
                          const std::function<bool(size_t run)>& counts);

}  // namespace mansard::calibrate
