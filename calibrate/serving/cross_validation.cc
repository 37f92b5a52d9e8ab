#include "calibrate/serving/cross_validation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/base/units.h"
#include "model/serving/observations.h"

namespace mansard::calibrate {
namespace {

using KeyOf = std::function<std::string(const ServedRun&)>;

// Each run by a fit to the core runs of all other keys.
absl::StatusOr<std::vector<model::EngineCosts>> LeaveOut(
    const std::vector<ServedRun>& runs, const KeyOf& key_of,
    const LinearFitOptions& options) {
  std::set<std::string> keys;
  for (const ServedRun& run : runs) keys.insert(key_of(run));
  std::vector<model::EngineCosts> costs(runs.size());
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const CostFit fit, CostFit::Fit(
                                            runs,
                                            [&](const ServedRun& run) {
                                              return run.IsCore() &&
                                                     key_of(run) != key;
                                            },
                                            options));
    for (size_t i = 0; i < runs.size(); ++i) {
      if (key_of(runs[i]) == key) costs[i] = fit.CostsOf(runs[i]);
    }
  }
  return costs;
}

std::vector<RunPrediction> PredictRuns(
    const std::vector<ServedRun>& runs,
    const std::vector<model::EngineCosts>& costs) {
  std::vector<RunPrediction> predictions;
  for (size_t i = 0; i < runs.size(); ++i) {
    predictions.push_back(PredictRun(runs[i], costs[i]));
  }
  return predictions;
}

// All passes `factor` times as long.
model::EngineCosts Scaled(model::EngineCosts costs, double factor) {
  for (model::OpCost& cost : costs.costs) {
    cost.factor *= factor;
    cost.each *= factor;
  }
  return costs;
}

double Measured(const ServedRun& run, ServedTime time) {
  return time == ServedTime::kTpot ? run.row->tpot_ms : run.row->ttft_ms;
}
double& Of(RunPrediction& prediction, ServedTime time) {
  return time == ServedTime::kTpot ? prediction.tpot_ms : prediction.ttft_ms;
}
double Of(const RunPrediction& prediction, ServedTime time) {
  return time == ServedTime::kTpot ? prediction.tpot_ms : prediction.ttft_ms;
}

// The three runs are those with the least hash of what was asked of them:
// nobody picks the best.
void ApplyFactors(const std::vector<ServedRun>& runs,
                  const std::vector<model::EngineCosts>& costs,
                  CrossValidation& validation) {
  validation.three_rows = validation.model;
  validation.has_factor.assign(runs.size(), false);
  std::map<std::string, std::vector<std::pair<int, size_t>>> deployments;
  for (size_t i = 0; i < runs.size(); ++i) {
    const ServingRow& row = *runs[i].row;
    if (!runs[i].IsCore()) continue;
    const int order =
        FoldOf(absl::StrCat(row.input_tokens, "|", row.output_tokens, "|",
                            row.in_flight(), "|", row.row),
               1 << 30);
    deployments[DeploymentOf(row)].emplace_back(order, i);
  }
  for (auto& [name, members] : deployments) {
    if (members.size() <= kFactorRuns) continue;
    std::sort(members.begin(), members.end());
    // As an engine's own factors are: of passes first, then over these.
    std::vector<RunPrediction> predictions;
    for (const auto& [order, run] : members) {
      predictions.push_back(validation.model[run]);
    }
    for (const ServedTime time : {ServedTime::kTpot, ServedTime::kTtft}) {
      std::vector<double> ratios;
      for (size_t k = 0; k < kFactorRuns; ++k) {
        const double measured = Measured(runs[members[k].second], time);
        if (measured > 0) ratios.push_back(measured / Of(predictions[k], time));
      }
      const double factor = model::OwnFactorOf(std::move(ratios));
      for (size_t k = 0; k < members.size(); ++k) {
        const size_t run = members[k].second;
        if (time == ServedTime::kTpot) {
          predictions[k] = PredictRun(runs[run], Scaled(costs[run], factor));
        } else {
          predictions[k].ttft_ms *= factor;
        }
      }
    }
    for (size_t k = kFactorRuns; k < members.size(); ++k) {
      validation.three_rows[members[k].second] = predictions[k];
      validation.has_factor[members[k].second] = true;
    }
  }
}

double QuantileOf(std::vector<double> values, double share) {
  if (values.empty()) return 1;
  const auto at =
      static_cast<size_t>(share * static_cast<double>(values.size()));
  const size_t index = std::min(values.size() - 1, at);
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

}  // namespace

RunPrediction PredictRun(const ServedRun& run,
                         const model::EngineCosts& costs) {
  const model::ServedTimes times =
      TimesOfRun(run, costs.costs, costs.first_token);
  return {model::ToMilliseconds(*times.values.time_per_output_token),
          model::ToMilliseconds(*times.values.time_to_first_token)};
}

absl::StatusOr<CrossValidation> CrossValidate(
    const std::vector<ServedRun>& runs, const LinearFitOptions& options) {
  CrossValidation validation;
  ASSIGN_OR_RETURN(
      const CostFit all,
      CostFit::Fit(
          runs, [](const ServedRun& run) { return run.IsCore(); }, options));
  for (const ServedRun& run : runs) {
    validation.unfitted.push_back(
        PredictRun(run, UnfittedCosts(run.row->engine)));
    validation.in_sample.push_back(PredictRun(run, all.CostsOf(run)));
  }
  ASSIGN_OR_RETURN(const std::vector<model::EngineCosts> of_configurations,
                   LeaveOut(
                       runs,
                       [](const ServedRun& run) {
                         return absl::StrCat(FoldOf(ConfigurationOf(*run.row),
                                                    kConfigurationFolds));
                       },
                       options));
  validation.configuration = PredictRuns(runs, of_configurations);
  ASSIGN_OR_RETURN(
      const std::vector<model::EngineCosts> of_models,
      LeaveOut(
          runs, [](const ServedRun& run) { return ModelFamily(*run.row); },
          options));
  validation.model = PredictRuns(runs, of_models);
  ASSIGN_OR_RETURN(
      const std::vector<model::EngineCosts> of_devices,
      LeaveOut(
          runs, [](const ServedRun& run) { return run.row->device; }, options));
  validation.device = PredictRuns(runs, of_devices);
  ApplyFactors(runs, of_models, validation);
  return validation;
}

Errors ErrorsOf(const std::vector<ServedRun>& runs,
                const std::vector<RunPrediction>& predictions, ServedTime time,
                const std::function<bool(size_t run)>& counts) {
  ErrorSums sums;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!counts(i) || Measured(runs[i], time) <= 0) continue;
    sums.Add(Of(predictions[i], time) / Measured(runs[i], time) - 1, false);
  }
  return sums.Result();
}

model::RatioRange RangeOf(const std::vector<ServedRun>& runs,
                          const std::vector<RunPrediction>& predictions,
                          ServedTime time,
                          const std::function<bool(size_t run)>& counts) {
  std::vector<double> ratios;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!counts(i) || Measured(runs[i], time) <= 0) continue;
    ratios.push_back(Of(predictions[i], time) / Measured(runs[i], time));
  }
  return {QuantileOf(ratios, 0.1), QuantileOf(ratios, 0.9)};
}

}  // namespace mansard::calibrate
