// Fits of times that are sums of costs, which differ by what a row belongs to.
// Knows no engine: rows bring their terms and levels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mansard::calibrate {

// One kind of cost. A row's term of it is what it takes at the prior.
struct LinearCost {
  std::string name;
  double log_sigma = 0.4;  // Of the prior, at every level. 0: it stays there.
};

struct LinearRow {
  std::vector<double> terms;   // One a cost, 0 or more; their sum is positive.
  double measured = 0;         // Above 0.
  std::vector<size_t> levels;  // That it belongs to.
};

struct LinearFitOptions {
  double ridge = 0.001;
  // How far a level may move a cost, either way.
  double reach = 6;
  int evaluations = 300;
};

// By level and cost, what the prior is multiplied by. A row's cost is the
// product over its levels; levels without rows have 1 everywhere.
using LinearMultipliers = std::vector<std::vector<double>>;

// Minimises mean(sqrt(d^2 + 1e-4)) + ridge sum((ln m / (sigma s))^2) over all
// multipliers m, where d = ln(predicted / measured) and s is the level's share
// of the sigmas (`level_shares`, one a level): nearly the mean size of the
// errors, as single runs are off by factors (Mansard design, end to end §2).
// The gradient is exact. Error: no rows.
absl::StatusOr<LinearMultipliers> FitLinear(
    const std::vector<LinearRow>& rows, const std::vector<LinearCost>& costs,
    const std::vector<double>& level_shares, const LinearFitOptions& options);

double PredictLinear(const LinearRow& row,
                     const LinearMultipliers& multipliers);

}  // namespace mansard::calibrate
