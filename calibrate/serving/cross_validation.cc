#include "calibrate/serving/cross_validation.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/base/units.h"

namespace mansard::calibrate {
namespace {

using KeyOf = std::function<std::string(const ServedRun&)>;

// Each run by a fit to the core runs of all other keys.
absl::StatusOr<std::vector<RunPrediction>> LeaveOut(
    const std::vector<ServedRun>& runs, const KeyOf& key_of,
    const LinearFitOptions& options) {
  std::set<std::string> keys;
  for (const ServedRun& run : runs) keys.insert(key_of(run));
  std::vector<RunPrediction> predictions(runs.size());
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const CostFit fit, CostFit::Fit(
                                            runs,
                                            [&](const ServedRun& run) {
                                              return run.IsCore() &&
                                                     key_of(run) != key;
                                            },
                                            options));
    for (size_t i = 0; i < runs.size(); ++i) {
      if (key_of(runs[i]) == key) {
        predictions[i] = PredictRun(runs[i], fit.CostsOf(runs[i]));
      }
    }
  }
  return predictions;
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
    for (const ServedTime time : {ServedTime::kTpot, ServedTime::kTtft}) {
      std::vector<double> ratios;
      for (size_t k = 0; k < kFactorRuns; ++k) {
        const size_t run = members[k].second;
        ratios.push_back(Measured(runs[run], time) /
                         Of(validation.model[run], time));
      }
      const double factor = FactorOf(ratios);
      for (size_t k = kFactorRuns; k < members.size(); ++k) {
        Of(validation.three_rows[members[k].second], time) *= factor;
        validation.has_factor[members[k].second] = true;
      }
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

double FactorOf(std::vector<double> ratios) {
  if (ratios.empty()) return 1;
  std::sort(ratios.begin(), ratios.end());
  const size_t half = ratios.size() / 2;
  const double median = ratios.size() % 2 == 1
                            ? ratios[half]
                            : (ratios[half - 1] + ratios[half]) / 2;
  return std::clamp(median, kLeastFactor, kMostFactor);
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
  ASSIGN_OR_RETURN(validation.configuration,
                   LeaveOut(
                       runs,
                       [](const ServedRun& run) {
                         return absl::StrCat(FoldOf(ConfigurationOf(*run.row),
                                                    kConfigurationFolds));
                       },
                       options));
  ASSIGN_OR_RETURN(
      validation.model,
      LeaveOut(
          runs, [](const ServedRun& run) { return ModelFamily(*run.row); },
          options));
  ASSIGN_OR_RETURN(
      validation.device,
      LeaveOut(
          runs, [](const ServedRun& run) { return run.row->device; }, options));
  ApplyFactors(runs, validation);
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
