// What a deployment reports of itself, and the factors of its own that follow.
#pragma once

#include <optional>
#include <vector>

#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/serving/served_load.h"
#include "model/serving/serving_engine.h"
#include "model/workload/pass_sums.h"

namespace mansard::model {

// One measured step, or one measured run of requests: one of both is there.
struct Observation {
  std::optional<PassSums> step;
  Seconds step_time;

  std::optional<ServedLoad> run;
  // Means over its requests; one of them at least.
  std::optional<Seconds> time_to_first_token;
  std::optional<Seconds> time_per_output_token;

  static constexpr Seconds kMostTime = Seconds::Of(86400);
};

// Measured over predicted. Empty where it was not measured, or where nothing is
// predicted: of a load that the engine cannot keep up with.
struct ObservedRatios {
  std::optional<double> step;  // Of a step, or per output token.
  std::optional<double>
      first_token;  // Over the prediction with OwnFactors::step.
};

struct ObservedFactors {
  OwnFactors factors;
  // That have told of them.
  int step_count = 0;
  int first_token_count = 0;
  std::vector<ObservedRatios> ratios;  // One an observation.
};

// A factor beyond these says that something else runs than was said: drafts,
// another format, another model.
inline constexpr double kLeastOwnFactor = 0.5;
inline constexpr double kMostOwnFactor = 2;
// The median, within those limits: one bad run of three does not count. 1
// without any.
double OwnFactorOf(std::vector<double> ratios);

// Rules: a step or a run, not both; those of PassOfSums and ServedLoad; times
// above 0, at most kMostTime. Violations are at "step", "step_seconds",
// "shape", "concurrency_count" and so on.
void CheckObservation(const ServingEngine& engine,
                      const Observation& observation, Violations& violations);

// Of all of them; those that break a rule, as they may where the engine has
// changed since, tell nothing. The engine has factors of 1 afterwards.
ObservedFactors ObserveFactors(ServingEngine& engine,
                               const std::vector<Observation>& observations);

}  // namespace mansard::model
