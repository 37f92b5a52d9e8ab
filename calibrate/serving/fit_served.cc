#include "calibrate/serving/fit_served.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/serving/served_stack.h"
#include "calibrate/tables/names.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Ranges = std::array<model::RatioRange, model::kFitSituationCount>;

// Data are for people, too: three digits.
double Rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10, 2 - std::floor(std::log10(std::abs(value))));
  return std::round(value * unit) / unit;
}

void RoundAll(model::EngineCosts& costs) {
  for (model::OpCost& cost : costs.costs) {
    cost.factor = Rounded(cost.factor);
    cost.each = model::Seconds::Of(Rounded(cost.each.value()));
  }
  for (model::CostVariation& variation : costs.variations) {
    for (double& ratio : variation.factor) ratio = Rounded(ratio);
    for (double& ratio : variation.each) ratio = Rounded(ratio);
  }
  model::FirstTokenCosts& first = costs.first_token;
  for (model::Seconds* time :
       {&first.request, &first.input_token, &first.prompt_layer,
        &first.concurrent_request}) {
    *time = model::Seconds::Of(Rounded(time->value()));
  }
  for (double* ratio : {&first.decode_passes, &first.burst, &first.prompt,
                        &first.wait, &first.queue}) {
    *ratio = Rounded(*ratio);
  }
  for (Ranges* ranges : {&costs.tpot_ranges, &costs.ttft_ranges}) {
    for (model::RatioRange& range : *ranges) {
      range = {Rounded(range.p10), Rounded(range.p90)};
    }
  }
}

struct Situations {
  Ranges tpot;
  Ranges ttft;
};
Situations RangesOf(const std::vector<ServedRun>& runs,
                    const CrossValidation& validation) {
  const std::pair<model::FitSituation, const std::vector<RunPrediction>*>
      situations[] = {{model::FitSituation::kKnown, &validation.configuration},
                      {model::FitSituation::kNewModel, &validation.model},
                      {model::FitSituation::kNewDevice, &validation.device}};
  Situations ranges;
  for (const auto& [situation, predictions] : situations) {
    const auto at = static_cast<size_t>(situation);
    ranges.tpot[at] = RangeOf(runs, *predictions, ServedTime::kTpot,
                              [&](size_t run) { return runs[run].IsCore(); });
    ranges.ttft[at] = RangeOf(
        runs, *predictions, ServedTime::kTtft,
        [&](size_t run) { return runs[run].IsCore() && !StartsUp(runs[run]); });
  }
  return ranges;
}

// A device and an engine that gets a stack there.
struct Place {
  std::string hardware;
  std::string framework;
  std::string generation;

  bool operator<(const Place& other) const {
    return std::tie(hardware, framework) <
           std::tie(other.hardware, other.framework);
  }
};

}  // namespace

absl::StatusOr<FittedServed> FitServed(const std::vector<ServingRow>& rows,
                                       const model::ShippedData& data,
                                       const std::string& date) {
  ServingTargets targets(data, {.fitted = false});
  const std::vector<ServedRun> runs = RunsOf(rows, targets);
  const auto fits = [](const ServedRun& run) {
    return run.IsCore() && !IsHeldOut(*run.row);
  };
  ASSIGN_OR_RETURN(const CostFit fit, CostFit::Fit(runs, fits, {}));
  ASSIGN_OR_RETURN(const CrossValidation validation, CrossValidate(runs, {}));
  const Situations ranges = RangesOf(runs, validation);
  std::set<Place> places;
  std::map<std::string, std::set<std::string>> models;  // By framework.
  std::set<std::string> devices;
  for (const ServedRun& run : runs) {
    const std::string hardware(HardwareId(run.row->device));
    places.insert({hardware, run.row->engine, run.architecture});
    if (!fits(run)) continue;
    models[run.row->engine].insert(run.row->model);
    devices.insert(hardware);
  }
  FittedServed fitted;
  fitted.tpot_rows = fit.tpot_rows();
  fitted.ttft_rows = fit.ttft_rows();
  for (const Place& place : places) {
    const auto profile = data.profiles.find(place.hardware);
    if (profile == data.profiles.end()) continue;
    model::EngineCosts costs = fit.CostsOf(place.framework, place.generation);
    costs.tpot_ranges = ranges.tpot;
    costs.ttft_ranges = ranges.ttft;
    const auto& seen = models[place.framework];
    costs.fitted_models.assign(seen.begin(), seen.end());
    costs.fitted_device = devices.count(place.hardware) > 0;
    costs.provenance = {
        model::ProvenanceKind::kFitted,
        absl::StrCat("e2e_serving.csv, ", fit.tpot_rows(), " and ",
                     fit.ttft_rows(),
                     " runs at fixed concurrency; Mansard design, end to end"),
        date};
    RoundAll(costs);
    std::string& text = fitted.files[place.hardware];
    if (text.empty()) {
      text =
          "# proto-file: mansard/v1/catalog.proto\n"
          "# proto-message: mansard.v1.HardwareProfile\n"
          "# Written by mansard-calibrate fit.\n";
    }
    text += model::DerivedStackToText(
        {.id = ServedStackId(place.framework),
         .base = ServedBase(*profile->second).spec().id,
         .families = ServedFamilies(*profile->second, place.framework),
         .engine_costs = costs});
  }
  return fitted;
}

}  // namespace mansard::calibrate
