// How far rows and priors together leave each parameter of a fit open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "calibrate/fit/map_fit.h"

namespace mansard::calibrate {

struct IntervalOptions {
  // Fits. The second and the last but one of 19 are p10 and p90 of what they
  // are drawn from: eight of ten lie between.
  int draws = 19;
  double prior_weight = 1;  // As FitOptions.
  uint64_t seed = 1;
};

// A parameter's p10 and p90.
using ParameterInterval = std::pair<double, double>;

// The randomised bootstrap. Every draw is a fit, in which each group of rows
// counts by a weight of its own and each prior lies where a draw from the prior
// itself says. So a parameter that the rows tell is as wide as they scatter,
// one that they do not tell as wide as its prior, and where they tell only the
// sum of two, both are wide. Nothing is pinned: what FitMap leaves at its prior
// is not known better for it. Every draw is sought from `fitted` and from its
// own priors, and the better kept: a fit that ended beside the least loss has
// wide intervals. All hold the fitted values. `groups`: of each row; rows of
// one group know of each other. Preconditions: those of FitMap.
std::vector<ParameterInterval> ParameterIntervals(
    const std::vector<FitParameter>& parameters,
    const std::vector<double>& measured, const std::vector<size_t>& groups,
    const Predict& predict, const std::vector<double>& fitted,
    const IntervalOptions& options);

}  // namespace mansard::calibrate
