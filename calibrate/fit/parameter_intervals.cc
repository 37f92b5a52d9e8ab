#include "calibrate/fit/parameter_intervals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/fit/newton_search.h"

namespace mansard::calibrate {
namespace {

constexpr int kStepsFromFitted = 6;
constexpr int kStepsFromPriors = 12;

// A generator of our own: the standard's distributions differ by library.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}

  // Of mean 1.
  double Exponential() { return -std::log(Uniform()); }
  // Of mean 0 and deviation 1.
  double Normal() {
    const double radius = std::sqrt(2 * Exponential());
    constexpr double kTurn = 6.283185307179586;
    return radius * std::cos(kTurn * Uniform());
  }

 private:
  // Above 0, up to 1.
  double Uniform() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (static_cast<double>(z >> 11) + 1) * 0x1p-53;
  }

  uint64_t state_;
};

// Exponential weights scatter as resampling does; wider by what a fit of so
// many parameters takes out of its own residuals.
std::vector<double> RowWeights(const std::vector<size_t>& groups,
                               size_t parameters, Draws& draws) {
  const size_t count = 1 + *std::max_element(groups.begin(), groups.end());
  const double told = std::max(
      0.5, 1 - static_cast<double>(parameters) / static_cast<double>(count));
  std::vector<double> by_group(count);
  for (double& weight : by_group) {
    weight = std::max(0.0, 1 + (draws.Exponential() - 1) / std::sqrt(told));
  }
  std::vector<double> weights;
  for (const size_t group : groups) weights.push_back(by_group[group]);
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) /
                      static_cast<double>(weights.size());
  // One group may have drawn nothing.
  if (mean <= 0) return std::vector<double>(groups.size(), 1);
  for (double& weight : weights) weight /= mean;
  return weights;
}

std::vector<FitParameter> WithDrawnPriors(
    const std::vector<FitParameter>& parameters, double prior_weight,
    Draws& draws) {
  std::vector<FitParameter> drawn = parameters;
  for (FitParameter& parameter : drawn) {
    const double sigma = parameter.log_sigma / std::sqrt(prior_weight);
    parameter.prior =
        std::clamp(parameter.prior * std::exp(sigma * draws.Normal()),
                   parameter.lower, parameter.upper);
  }
  return drawn;
}

// The tenth from either end.
ParameterInterval MiddleOf(std::vector<double> values, double fitted) {
  std::sort(values.begin(), values.end());
  const size_t below = (values.size() + 1) / 10;
  const size_t rank = below > 0 ? below - 1 : 0;
  return {std::min(values[rank], fitted),
          std::max(values[values.size() - 1 - rank], fitted)};
}

}  // namespace

std::vector<ParameterInterval> ParameterIntervals(
    const std::vector<FitParameter>& parameters,
    const std::vector<double>& measured, const std::vector<size_t>& groups,
    const Predict& predict, const std::vector<double>& fitted,
    const IntervalOptions& options) {
  Draws draws(options.seed);
  std::vector<std::vector<double>> values(parameters.size());
  for (int draw = 0; draw < options.draws; ++draw) {
    const std::vector<double> weights =
        RowWeights(groups, parameters.size(), draws);
    const std::vector<FitParameter> drawn =
        WithDrawnPriors(parameters, options.prior_weight, draws);
    const WeightedFit fit{drawn, measured, weights, predict,
                          options.prior_weight};
    std::vector<double> priors;
    for (const FitParameter& parameter : drawn) {
      priors.push_back(parameter.prior);
    }
    NewtonResult best = NewtonSearch(fit, fitted, kStepsFromFitted);
    NewtonResult other = NewtonSearch(fit, priors, kStepsFromPriors);
    if (other.objective < best.objective) best = std::move(other);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i].push_back(best.values[i]);
    }
  }
  std::vector<ParameterInterval> intervals;
  for (size_t i = 0; i < values.size(); ++i) {
    intervals.push_back(MiddleOf(std::move(values[i]), fitted[i]));
  }
  return intervals;
}

}  // namespace mansard::calibrate
