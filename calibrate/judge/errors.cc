#include "calibrate/judge/errors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mansard::calibrate {
namespace {

constexpr size_t kDeciles = 10;

// Precondition: sorted, not empty.
double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above],
                   place - static_cast<double>(below));
}

}  // namespace

void ErrorSums::Add(double error, bool in_range) {
  sizes_.push_back(std::abs(error));
  bias_ += error;
  in_range_ += in_range ? 1 : 0;
}

Errors ErrorSums::Result() {
  Errors errors;
  errors.rows = sizes_.size();
  if (sizes_.empty()) return errors;
  std::sort(sizes_.begin(), sizes_.end());
  const double count = static_cast<double>(sizes_.size());
  errors.mean = std::accumulate(sizes_.begin(), sizes_.end(), 0.0) / count;
  errors.median = Quantile(sizes_, .5);
  errors.p90 = Quantile(sizes_, .9);
  errors.bias = bias_ / count;
  errors.in_range = in_range_ / count;
  return errors;
}

std::vector<Decile> DecilesOf(std::vector<SizedError> rows) {
  std::stable_sort(
      rows.begin(), rows.end(),
      [](const SizedError& a, const SizedError& b) { return a.size < b.size; });
  const size_t parts = std::min(kDeciles, rows.size());
  std::vector<Decile> deciles;
  for (size_t part = 0; part < parts; ++part) {
    const size_t first = part * rows.size() / parts;
    const size_t end = (part + 1) * rows.size() / parts;
    ErrorSums sums;
    for (size_t i = first; i < end; ++i) {
      sums.Add(rows[i].error, rows[i].in_range);
    }
    deciles.push_back({rows[first].size, rows[end - 1].size, sums.Result()});
  }
  return deciles;
}

}  // namespace mansard::calibrate
