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
  double ridge = 0.0007;
  // How far a level may move a cost, either way.
  double reach = 6;
  int evaluations = 300;
};

// By level and cost, what the prior is multiplied by. A row's cost is the
// product over its levels; levels without rows have 1 everywhere.
using LinearMultipliers = std::vector<std::vector<double>>;

// Minimises mean(sqrt(e^2 + 1e-4)) + ridge sum((ln m / sigma)^2) over all
// multipliers m of `levels` levels, where e = predicted / measured - 1: nearly
// what errors are reported as, and single runs, which are off by factors, do
// not pull (Mansard design, end to end §2, where e is the logarithm; that
// leaves more of it on other runs). The gradient is exact. Errors: no rows; a
// row without a term for each cost.
absl::StatusOr<LinearMultipliers> FitLinear(
    const std::vector<LinearRow>& rows, const std::vector<LinearCost>& costs,
    size_t levels, const LinearFitOptions& options);

double PredictLinear(const LinearRow& row,
                     const LinearMultipliers& multipliers);

}  // namespace mansard::calibrate
