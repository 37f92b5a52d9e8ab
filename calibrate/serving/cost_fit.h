// Engines' costs fitted to served runs: per step from times per output
// token, and on the way to the first token.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/serving/linear_fit.h"
#include "calibrate/serving/served_run.h"
#include "model/hardware/engine_costs.h"

namespace mansard::calibrate {

// Multipliers over UnfittedCosts, by level: all runs, an engine, a generation
// of devices, a kind of model on one (experts, weights' bits), a version of an
// engine. Levels that no fitted run has have none.
class CostFit {
 public:
  // Runs for which `fits` holds. Runs whose time to the first token holds
  // start-up count for the time per token alone. Error: of FitLinear.
  static absl::StatusOr<CostFit> Fit(
      const std::vector<ServedRun>& runs,
      const std::function<bool(const ServedRun&)>& fits,
      const LinearFitOptions& options);

  // Costs of an engine on a generation of devices; what varies by kind of model
  // and by version in its variations.
  model::EngineCosts CostsOf(absl::string_view framework,
                             absl::string_view generation) const;
  // With what holds for one run resolved.
  model::EngineCosts CostsOf(const ServedRun& run) const;

  size_t tpot_rows() const { return tpot_rows_; }
  size_t ttft_rows() const { return ttft_rows_; }

 private:
  absl::Status FitSteps(const std::vector<const ServedRun*>& runs,
                        const LinearFitOptions& options);
  absl::Status FitFirstTokens(const std::vector<const ServedRun*>& runs,
                              const LinearFitOptions& options);

  // By name of level.
  std::map<std::string, std::vector<double>> steps_;
  std::map<std::string, std::vector<double>> first_tokens_;
  // Of the levels, for variations.
  std::map<std::string, model::CostVariation> kinds_;     // By level.
  std::map<std::string, model::CostVariation> versions_;  // By level.
  size_t tpot_rows_ = 0;
  size_t ttft_rows_ = 0;
};

}  // namespace mansard::calibrate
