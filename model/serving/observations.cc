#include "model/serving/observations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

void CheckTime(absl::string_view field, const std::optional<Seconds>& time,
               Violations& violations) {
  if (!time.has_value()) return;
  if (*time > Seconds::Zero() && *time <= Observation::kMostTime) return;
  violations.Add(field,
                 absl::StrCat("is ", time->value(), "; allowed: above 0 to ",
                              Observation::kMostTime.value()));
}

std::optional<ForwardPass> PassOf(const ServingEngine& engine,
                                  const PassSums& sums,
                                  Violations& violations) {
  return PassOfSums(sums, engine.target().graph().spec().max_context,
                    violations);
}

void CheckRun(const ServingEngine& engine, const Observation& observation,
              Violations& violations) {
  StepTimer timer;
  EstimateServedLoad(engine, *observation.run, timer, violations);
  CheckTime("time_to_first_token_seconds", observation.time_to_first_token,
            violations);
  CheckTime("time_per_output_token_seconds", observation.time_per_output_token,
            violations);
  const ServingRole role = engine.role();
  if (observation.time_to_first_token.has_value() &&
      role == ServingRole::kDecode) {
    violations.Add("time_to_first_token_seconds",
                   "is given of an engine that decodes alone");
  }
  if (observation.time_per_output_token.has_value() &&
      role == ServingRole::kPrefill) {
    violations.Add("time_per_output_token_seconds",
                   "is given of an engine of prompts alone");
  }
  if (!observation.time_to_first_token.has_value() &&
      !observation.time_per_output_token.has_value()) {
    violations.Add("time_to_first_token_seconds",
                   "and time_per_output_token_seconds: one is required");
  }
}

std::optional<double> Ratio(const std::optional<Seconds>& measured,
                            const std::optional<Seconds>& predicted) {
  if (!measured.has_value() || !predicted.has_value() ||
      !(*predicted > Seconds::Zero())) {
    return std::nullopt;
  }
  return *measured / *predicted;
}

ObservedRatios RatiosOf(const ServingEngine& engine,
                        const Observation& observation, StepTimer& timer) {
  Violations violations;
  CheckObservation(engine, observation, violations);
  ObservedRatios ratios;
  if (!violations.empty()) return ratios;
  if (observation.step.has_value()) {
    const auto pass = PassOf(engine, *observation.step, violations);
    ratios.step = Ratio(observation.step_time, engine.StepTime(*pass, timer));
    return ratios;
  }
  const std::optional<ServedAnswer> answer =
      EstimateServedLoad(engine, *observation.run, timer, violations);
  ratios.step = Ratio(observation.time_per_output_token,
                      answer->values.time_per_output_token);
  ratios.first_token = Ratio(observation.time_to_first_token,
                             answer->values.time_to_first_token);
  return ratios;
}

// The median of what `of` picks, and how many there are.
template <class Of>
double Median(const std::vector<ObservedRatios>& all, const Of& of,
              int& count) {
  std::vector<double> ratios;
  for (const ObservedRatios& each : all) {
    if (const std::optional<double> ratio = of(each)) ratios.push_back(*ratio);
  }
  count = static_cast<int>(ratios.size());
  return OwnFactorOf(std::move(ratios));
}

}  // namespace

double OwnFactorOf(std::vector<double> ratios) {
  if (ratios.empty()) return 1;
  std::sort(ratios.begin(), ratios.end());
  const size_t half = ratios.size() / 2;
  const double median = ratios.size() % 2 == 1
                            ? ratios[half]
                            : (ratios[half - 1] + ratios[half]) / 2;
  return std::clamp(median, kLeastOwnFactor, kMostOwnFactor);
}

void CheckObservation(const ServingEngine& engine,
                      const Observation& observation, Violations& violations) {
  if (observation.step.has_value() == observation.run.has_value()) {
    violations.Add("step", "and shape: one of them must be given, not both");
    return;
  }
  if (observation.run.has_value()) {
    CheckRun(engine, observation, violations);
    return;
  }
  CheckTime("step_seconds", observation.step_time, violations);
  const Violations::Scope scope(violations, "step");
  PassOf(engine, *observation.step, violations);
}

ObservedFactors ObserveFactors(ServingEngine& engine,
                               const std::vector<Observation>& observations) {
  ObservedFactors observed;
  StepTimer timer;
  engine.SetFactors({});
  for (const Observation& observation : observations) {
    observed.ratios.push_back(RatiosOf(engine, observation, timer));
  }
  observed.factors.step = Median(
      observed.ratios, [](const ObservedRatios& each) { return each.step; },
      observed.step_count);
  engine.SetFactors({.step = observed.factors.step});
  for (size_t i = 0; i < observations.size(); ++i) {
    observed.ratios[i].first_token =
        RatiosOf(engine, observations[i], timer).first_token;
  }
  observed.factors.first_token = Median(
      observed.ratios,
      [](const ObservedRatios& each) { return each.first_token; },
      observed.first_token_count);
  engine.SetFactors({});
  return observed;
}

}  // namespace mansard::model
