// What FitMap minimises, with rows of different weight, by Newton's steps on
// the linearised formula: a few predictions for each parameter.
#pragma once

#include <vector>

#include "calibrate/fit/map_fit.h"

namespace mansard::calibrate {

struct WeightedFit {
  const std::vector<FitParameter>& parameters;
  const std::vector<double>& measured;
  const std::vector<double>& row_weights;  // Of mean 1.
  const Predict& predict;
  double prior_weight = 1;  // As FitOptions.
};

struct NewtonResult {
  std::vector<double> values;
  double objective = 0;  // As FitMap's, times the rows.
};

// From `start`, cut to the bounds, until a step gains nothing or `steps` are
// done.
NewtonResult NewtonSearch(const WeightedFit& fit,
                          const std::vector<double>& start, int steps);

}  // namespace mansard::calibrate
