#include "calibrate/serving/linear_fit.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlopt.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

constexpr double kRound = 1e-4;  // Of the loss's knee, squared.

// Logarithms of multipliers, level by level, as NLopt has them.
class Objective {
 public:
  Objective(const std::vector<LinearRow>& rows,
            const std::vector<LinearCost>& costs, size_t levels, double ridge)
      : rows_(rows), costs_(costs), levels_(levels), ridge_(ridge) {}

  size_t size() const { return costs_.size() * levels_; }

  double operator()(const std::vector<double>& logs,
                    std::vector<double>& gradient) const {
    std::fill(gradient.begin(), gradient.end(), 0);
    double loss = 0;
    std::vector<double> values(costs_.size());
    for (const LinearRow& row : rows_) loss += Add(row, logs, values, gradient);
    for (size_t i = 0; i < logs.size(); ++i) {
      const double sigma = costs_[i % costs_.size()].log_sigma;
      if (sigma == 0) continue;
      const double off = logs[i] / sigma;
      loss += ridge_ * off * off;
      if (!gradient.empty()) gradient[i] += 2 * ridge_ * off / sigma;
    }
    return loss;
  }

 private:
  double Add(const LinearRow& row, const std::vector<double>& logs,
             std::vector<double>& values, std::vector<double>& gradient) const {
    double sum = 0;
    for (size_t c = 0; c < values.size(); ++c) {
      double log = 0;
      for (const size_t level : row.levels) {
        log += logs[level * values.size() + c];
      }
      values[c] = row.terms[c] * std::exp(log);
      sum += values[c];
    }
    const double off = sum / row.measured - 1;
    const double size = std::sqrt(off * off + kRound);
    const double share = 1 / static_cast<double>(rows_.size());
    if (!gradient.empty()) {
      const double each = share * off / size / row.measured;
      for (const size_t level : row.levels) {
        for (size_t c = 0; c < values.size(); ++c) {
          gradient[level * values.size() + c] += each * values[c];
        }
      }
    }
    return share * size;
  }

  const std::vector<LinearRow>& rows_;
  const std::vector<LinearCost>& costs_;
  size_t levels_;
  double ridge_;
};

double Evaluate(const std::vector<double>& logs, std::vector<double>& gradient,
                void* objective) {
  return (*static_cast<const Objective*>(objective))(logs, gradient);
}

}  // namespace

absl::StatusOr<LinearMultipliers> FitLinear(
    const std::vector<LinearRow>& rows, const std::vector<LinearCost>& costs,
    size_t levels, const LinearFitOptions& options) {
  if (rows.empty()) return absl::InvalidArgumentError("no rows to fit to");
  for (const LinearRow& row : rows) {
    if (row.terms.size() != costs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a row has ", row.terms.size(), " terms; there are ",
                       costs.size(), " costs"));
    }
  }
  Objective objective(rows, costs, levels, options.ridge);
  std::vector<double> logs(objective.size(), 0);
  std::vector<double> bounds(logs.size());
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] =
        costs[i % costs.size()].log_sigma == 0 ? 0 : std::log(options.reach);
  }
  try {
    nlopt::opt search(nlopt::LD_LBFGS, static_cast<unsigned>(logs.size()));
    search.set_min_objective(&Evaluate, &objective);
    search.set_upper_bounds(bounds);
    for (double& bound : bounds) bound = -bound;
    search.set_lower_bounds(bounds);
    search.set_maxeval(options.evaluations);
    search.set_ftol_rel(1e-6);
    double loss = 0;
    search.optimize(logs, loss);
  } catch (const nlopt::roundoff_limited&) {
    // As near as doubles get: `logs` holds it.
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("search: ", error.what()));
  }
  LinearMultipliers multipliers(levels, std::vector<double>(costs.size()));
  for (size_t i = 0; i < logs.size(); ++i) {
    multipliers[i / costs.size()][i % costs.size()] = std::exp(logs[i]);
  }
  return multipliers;
}

double PredictLinear(const LinearRow& row,
                     const LinearMultipliers& multipliers) {
  double sum = 0;
  for (size_t c = 0; c < row.terms.size(); ++c) {
    double value = row.terms[c];
    for (const size_t level : row.levels) value *= multipliers[level][c];
    sum += value;
  }
  return sum;
}

}  // namespace mansard::calibrate
