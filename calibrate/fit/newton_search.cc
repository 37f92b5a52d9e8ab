#include "calibrate/fit/newton_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mansard::calibrate {
namespace {

using Vector = std::vector<double>;

constexpr double kDifference = 0.02;  // Of a logarithm, for slopes.
constexpr double kLongestStep = 0.8;  // Of a logarithm.
constexpr double kLeastGain = 1e-4;   // Of the objective.
constexpr int kHalvings = 4;
// Of Huber's loss as squares of changing weights.
constexpr int kReweightings = 8;

// A symmetric positive matrix, by rows.
class Matrix {
 public:
  explicit Matrix(size_t size) : size_(size), cells_(size * size) {}
  double& at(size_t row, size_t column) { return cells_[row * size_ + column]; }

  // Elimination without exchange of rows, which such a matrix needs not.
  Vector Solve(Vector right) && {
    for (size_t i = 0; i < size_; ++i) {
      for (size_t row = i + 1; row < size_; ++row) {
        const double factor = at(row, i) / at(i, i);
        for (size_t j = i; j < size_; ++j) at(row, j) -= factor * at(i, j);
        right[row] -= factor * right[i];
      }
    }
    for (size_t i = size_; i-- > 0;) {
      for (size_t j = i + 1; j < size_; ++j) right[i] -= at(i, j) * right[j];
      right[i] /= at(i, i);
    }
    return right;
  }

 private:
  const size_t size_;
  Vector cells_;
};

class Search {
 public:
  explicit Search(const WeightedFit& fit)
      : fit_(fit), rows_(fit.measured.size()), predicted_(rows_) {
    for (size_t i = 0; i < fit.parameters.size(); ++i) {
      const FitParameter& one = fit.parameters[i];
      if (one.log_sigma > 0 && one.lower < one.upper) free_.push_back(i);
    }
  }

  NewtonResult Run(const Vector& start, int steps) {
    values_ = start;
    for (size_t i = 0; i < values_.size(); ++i) {
      const FitParameter& one = fit_.parameters[i];
      values_[i] = std::clamp(values_[i], one.lower, one.upper);
    }
    residuals_ = Residuals(values_);
    objective_ = Objective(values_, residuals_);
    for (int step = 0; step < steps; ++step) {
      if (!Take(Step())) break;
    }
    return {values_, objective_};
  }

 private:
  Vector Residuals(const Vector& values) {
    fit_.predict(values, predicted_);
    Vector residuals(rows_);
    for (size_t row = 0; row < rows_; ++row) {
      residuals[row] = std::log(fit_.measured[row] / predicted_[row]);
    }
    return residuals;
  }

  // (ln value - ln prior) / log_sigma^2, times the prior's weight.
  double Pull(size_t i, double value) const {
    return Stiffness(i) * std::log(value / fit_.parameters[i].prior);
  }
  double Stiffness(size_t i) const {
    const double sigma = fit_.parameters[i].log_sigma;
    return kPriorWeight * fit_.prior_weight / (sigma * sigma);
  }

  double Objective(const Vector& values, const Vector& residuals) const {
    double sum = 0;
    for (size_t row = 0; row < rows_; ++row) {
      sum += fit_.row_weights[row] * HuberLoss(residuals[row]);
    }
    for (const size_t i : free_) {
      sum += Pull(i, values[i]) *
             std::log(values[i] / fit_.parameters[i].prior) / 2;
    }
    return sum;
  }

  // By how much a residual falls for each free parameter's logarithm.
  std::vector<Vector> Slopes() {
    std::vector<Vector> slopes;
    for (const size_t i : free_) {
      Vector moved = values_;
      const bool up =
          values_[i] * std::exp(kDifference) <= fit_.parameters[i].upper;
      const double difference = up ? kDifference : -kDifference;
      moved[i] *= std::exp(difference);
      Vector slope = Residuals(moved);
      for (size_t row = 0; row < rows_; ++row) {
        slope[row] = (residuals_[row] - slope[row]) / difference;
      }
      slopes.push_back(std::move(slope));
    }
    return slopes;
  }

  // What the linearised formula says of the free parameters' logarithms, within
  // their bounds.
  Vector Step() {
    const std::vector<Vector> slopes = Slopes();
    Vector step(free_.size());
    for (int i = 0; i < kReweightings; ++i) step = Reweighted(slopes, step);
    return step;
  }

  Vector Reweighted(const std::vector<Vector>& slopes,
                    const Vector& last) const {
    const size_t size = free_.size();
    Matrix left(size);
    Vector right(size);
    for (size_t row = 0; row < rows_; ++row) {
      double residual = residuals_[row];
      for (size_t i = 0; i < size; ++i) residual -= slopes[i][row] * last[i];
      const double weight =
          fit_.row_weights[row] / std::max(kHuberKnee, std::abs(residual));
      for (size_t i = 0; i < size; ++i) {
        const double weighted = weight * slopes[i][row];
        right[i] += weighted * residuals_[row];
        for (size_t j = 0; j < size; ++j) {
          left.at(i, j) += weighted * slopes[j][row];
        }
      }
    }
    for (size_t i = 0; i < size; ++i) {
      left.at(i, i) += Stiffness(free_[i]);
      right[i] -= Pull(free_[i], values_[free_[i]]);
    }
    return Bounded(left, std::move(right));
  }

  // The solution; what would leave its bounds ends there, and the others move
  // with it.
  Vector Bounded(const Matrix& left, Vector right) const {
    const size_t size = free_.size();
    Matrix bound = left;
    std::vector<bool> fixed(size);
    for (size_t round = 0; round <= size; ++round) {
      Vector step = Matrix(bound).Solve(right);
      bool moved = false;
      for (size_t i = 0; i < size; ++i) {
        const double within = Within(i, step[i]);
        if (fixed[i] || within == step[i]) continue;
        fixed[i] = moved = true;
        for (size_t j = 0; j < size; ++j) {
          right[j] -= bound.at(j, i) * within;
          bound.at(i, j) = bound.at(j, i) = 0;
        }
        bound.at(i, i) = 1;
        right[i] = within;
      }
      if (!moved) return step;
    }
    return right;
  }

  double Within(size_t i, double step) const {
    const FitParameter& one = fit_.parameters[free_[i]];
    const double value = values_[free_[i]];
    const double low = std::max(-kLongestStep, std::log(one.lower / value));
    const double high = std::min(kLongestStep, std::log(one.upper / value));
    return std::clamp(step, low, high);
  }

  // False: it gains too little, at no length.
  bool Take(const Vector& step) {
    double length = 1;
    for (int i = 0; i < kHalvings; ++i, length /= 2) {
      Vector values = values_;
      for (size_t j = 0; j < free_.size(); ++j) {
        const FitParameter& one = fit_.parameters[free_[j]];
        values[free_[j]] =
            std::clamp(values[free_[j]] * std::exp(length * step[j]), one.lower,
                       one.upper);
      }
      Vector residuals = Residuals(values);
      const double objective = Objective(values, residuals);
      if (objective >= objective_) continue;
      const bool gains = objective < objective_ * (1 - kLeastGain);
      values_ = std::move(values);
      residuals_ = std::move(residuals);
      objective_ = objective;
      return gains;
    }
    return false;
  }

  const WeightedFit& fit_;
  const size_t rows_;
  Vector predicted_;
  std::vector<size_t> free_;
  Vector values_;
  Vector residuals_;
  double objective_ = 0;
};

}  // namespace

NewtonResult NewtonSearch(const WeightedFit& fit,
                          const std::vector<double>& start, int steps) {
  return Search(fit).Run(start, steps);
}

}  // namespace mansard::calibrate
