#include "calibrate/fit/map_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mansard::calibrate {
namespace {

constexpr double kLogTolerance = 1e-4;
constexpr double kFirstStep = 0.15;  // Of a logarithm.
// Of the normal distribution: ten percent lie above 1.2816 sigma.
constexpr double kTenPercentPoint = 1.2815515655446004;

absl::Status Check(const std::vector<FitParameter>& parameters,
                   const std::vector<double>& measured, bool few_rows) {
  if (measured.empty() || (!few_rows && measured.size() <= parameters.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows: ", measured.size(), " cannot tell ",
                     parameters.size(), " parameters; more rows are needed"));
  }
  for (const FitParameter& parameter : parameters) {
    if (!(parameter.lower > 0 && parameter.lower <= parameter.prior &&
          parameter.prior <= parameter.upper)) {
      return absl::InvalidArgumentError(
          absl::StrCat(parameter.name, ": the prior ", parameter.prior,
                       " must lie in the bounds ", parameter.lower, " to ",
                       parameter.upper, ", all above 0"));
    }
  }
  for (double time : measured) {
    if (!(time > 0 && std::isfinite(time))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "rows: a measured time is ", time, "; must be above 0 and finite"));
    }
  }
  return absl::OkStatus();
}

class Fit {
 public:
  Fit(const std::vector<FitParameter>& parameters,
      const std::vector<double>& measured, const Predict& predict,
      double prior_weight)
      : parameters_(parameters),
        measured_(measured),
        predict_(predict),
        prior_weight_(prior_weight * kPriorWeight),
        predicted_(measured.size()) {
    for (const FitParameter& parameter : parameters) {
      values_.push_back(parameter.prior);
      free_.push_back(parameter.log_sigma > 0 &&
                      parameter.lower < parameter.upper);
    }
  }

  const std::vector<double>& values() const { return values_; }
  int evaluations() const { return evaluations_; }
  bool IsFree(size_t i) const { return free_[i]; }

  double MeanLoss(const std::vector<double>& values) {
    ++evaluations_;
    predict_(values, predicted_);
    double sum = 0;
    for (size_t row = 0; row < measured_.size(); ++row) {
      sum += HuberLoss(std::log(measured_[row] / predicted_[row]));
    }
    return sum / static_cast<double>(measured_.size());
  }

  // At `values()`.
  std::vector<double> Residuals() {
    MeanLoss(values_);
    std::vector<double> residuals;
    for (size_t row = 0; row < measured_.size(); ++row) {
      residuals.push_back(std::log(measured_[row] / predicted_[row]));
    }
    return residuals;
  }

  void Pin(size_t i) {
    free_[i] = false;
    values_[i] = parameters_[i].prior;
  }

  // From where the values are.
  void Improve(int evaluations) {
    std::vector<double> logs;
    std::vector<double> lower;
    std::vector<double> upper;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!free_[i]) continue;
      logs.push_back(std::log(values_[i]));
      lower.push_back(std::log(parameters_[i].lower));
      upper.push_back(std::log(parameters_[i].upper));
    }
    if (logs.empty()) return;
    nlopt::opt search(nlopt::LN_SBPLX, static_cast<unsigned>(logs.size()));
    search.set_min_objective(&Fit::Objective, this);
    search.set_lower_bounds(lower);
    search.set_upper_bounds(upper);
    search.set_initial_step(kFirstStep);
    search.set_xtol_abs(kLogTolerance);
    search.set_maxeval(evaluations);
    for (size_t i = 0; i < logs.size(); ++i) {
      logs[i] = std::clamp(logs[i], lower[i], upper[i]);
    }
    double least = 0;
    search.optimize(logs, least);
    SetFree(logs, values_);
  }

 private:
  void SetFree(const std::vector<double>& logs,
               std::vector<double>& values) const {
    size_t next = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (free_[i]) values[i] = std::exp(logs[next++]);
    }
  }

  double Penalty(const std::vector<double>& values) const {
    double sum = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      if (!free_[i]) continue;
      const double distance =
          std::log(values[i] / parameters_[i].prior) / parameters_[i].log_sigma;
      sum += distance * distance;
    }
    return prior_weight_ * sum / (2 * static_cast<double>(measured_.size()));
  }

  static double Objective(const std::vector<double>& logs,
                          std::vector<double>& /*gradient*/, void* data) {
    Fit& fit = *static_cast<Fit*>(data);
    std::vector<double> values = fit.values_;
    fit.SetFree(logs, values);
    return fit.MeanLoss(values) + fit.Penalty(values);
  }

  const std::vector<FitParameter>& parameters_;
  const std::vector<double>& measured_;
  const Predict& predict_;
  const double prior_weight_;
  std::vector<double> predicted_;
  std::vector<double> values_;
  std::vector<bool> free_;
  int evaluations_ = 0;
};

// Pins what the rows do not tell; true where anything was.
bool PinWeak(const std::vector<FitParameter>& parameters, double weak_loss,
             Fit& fit, std::vector<bool>& weak) {
  bool any = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!fit.IsFree(i)) continue;
    std::vector<double> values = fit.values();
    const double now = fit.MeanLoss(values);
    values[i] = parameters[i].prior;
    if (fit.MeanLoss(values) - now < weak_loss) {
      fit.Pin(i);
      weak[i] = true;
      any = true;
    }
  }
  return any;
}

}  // namespace

absl::StatusOr<FitResult> FitMap(const std::vector<FitParameter>& parameters,
                                 const std::vector<double>& measured,
                                 const Predict& predict,
                                 const FitOptions& options) {
  const absl::Status checked = Check(parameters, measured, options.few_rows);
  if (!checked.ok()) return checked;
  Fit fit(parameters, measured, predict, options.prior_weight);
  FitResult result;
  result.weak.assign(parameters.size(), false);
  fit.Improve(options.evaluations);
  PinWeak(parameters, options.weak_loss, fit, result.weak);
  fit.Improve(options.evaluations);
  result.values = fit.values();
  result.mean_loss = fit.MeanLoss(result.values);
  result.residuals = fit.Residuals();
  result.evaluations = fit.evaluations();
  return result;
}

double HuberLoss(double residual) {
  const double size = std::abs(residual);
  return size <= kHuberKnee ? residual * residual / (2 * kHuberKnee)
                            : size - kHuberKnee / 2;
}

double MeanLoss(const std::vector<double>& residuals) {
  double sum = 0;
  for (const double residual : residuals) sum += HuberLoss(residual);
  return sum / static_cast<double>(std::max<size_t>(1, residuals.size()));
}

double SpreadOf(std::vector<double> residuals, double share) {
  if (residuals.empty()) return 0;
  for (double& residual : residuals) residual = std::abs(residual);
  const size_t rank = std::min(
      residuals.size() - 1,
      static_cast<size_t>(share * static_cast<double>(residuals.size())));
  std::nth_element(residuals.begin(),
                   residuals.begin() + static_cast<std::ptrdiff_t>(rank),
                   residuals.end());
  return residuals[rank] / kTenPercentPoint;
}

}  // namespace mansard::calibrate
