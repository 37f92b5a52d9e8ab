// Maximum a posteriori fit of a formula's parameters to measured times. Knows
// no formula: every kernel family brings its own parameters and prediction.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mansard::calibrate {

// A positive number, fitted by its logarithm.
struct FitParameter {
  std::string name;  // With its unit, as the formula spells it.
  double prior = 1;
  double lower = 0;  // 0 < lower <= prior <= upper.
  double upper = 0;
  double log_sigma = 0.4;  // Of the prior. 0: the parameter stays there.
};

// Predicted times of all rows for values of all parameters.
using Predict = std::function<void(const std::vector<double>& values,
                                   std::vector<double>& predicted)>;

struct FitOptions {
  int evaluations = 700;  // Of one search; two follow each other.
  // A parameter is weak if the mean loss grows by less than this when it goes
  // back to its prior: the rows do not tell otherwise. It is then left there.
  double weak_loss = 2e-4;
  double prior_weight = 1;  // Of kPriorWeight.
  // Fewer rows than parameters are no error: the prior tells the rest.
  bool few_rows = false;
};

struct FitResult {
  std::vector<double> values;  // In the order of the parameters.
  std::vector<bool> weak;
  double mean_loss = 0;           // Without the prior's part.
  std::vector<double> residuals;  // ln(measured / predicted), by row.
  int evaluations = 0;
};

// Below it a residual counts by its square, above by its size.
inline constexpr double kHuberKnee = 0.03;
inline constexpr double kPriorWeight = 0.02;

// Of one residual.
double HuberLoss(double residual);

// Minimises mean(Huber(ln(measured / predicted))) +
// sum(((ln value - ln prior) / log_sigma)^2) / (2 rows) * kPriorWeight, times
// the options', by subplex. With the knee of Huber's loss at 3 % single rows
// that ran off do not count by their square. Error: no rows, as many parameters
// as rows, or bounds that do not hold the prior.
absl::StatusOr<FitResult> FitMap(const std::vector<FitParameter>& parameters,
                                 const std::vector<double>& measured,
                                 const Predict& predict,
                                 const FitOptions& options);

// Of residuals; what FitMap minimises, without the prior's part.
double MeanLoss(const std::vector<double>& residuals);

// The standard deviation of a normal distribution whose p10 to p90 would hold
// `share` of the residuals.
double SpreadOf(std::vector<double> residuals, double share);

}  // namespace mansard::calibrate
