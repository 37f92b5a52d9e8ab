#include "calibrate/measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace mansard::calibrate {
namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // 97.5 %.
constexpr size_t kLeastForInterval = 6;
constexpr size_t kLeastForDrift = 9;
constexpr double kFarDeviations = 5;
// Timers have a grain: samples that all agree are no two groups.
constexpr double kLeastDeviation = 1e-3;  // Of the median.

double MedianOfSorted(const std::vector<double>& sorted, size_t first,
                      size_t last) {
  const size_t count = last - first;
  const size_t middle = first + count / 2;
  return count % 2 == 1 ? sorted[middle]
                        : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Deviation(const std::vector<double>& sorted, size_t first, size_t last) {
  const double median = MedianOfSorted(sorted, first, last);
  std::vector<double> distances;
  for (size_t i = first; i < last; ++i) {
    distances.push_back(std::abs(sorted[i] - median));
  }
  return std::max(Median(std::move(distances)), kLeastDeviation * median);
}

// At the widest gap.
bool HasTwoGroups(const std::vector<double>& sorted) {
  const size_t least = std::max<size_t>(2, sorted.size() / 5);
  if (sorted.size() < 2 * least) return false;
  size_t split = least;
  for (size_t i = least; i + least <= sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > sorted[split] - sorted[split - 1]) {
      split = i;
    }
  }
  const double gap = sorted[split] - sorted[split - 1];
  return gap > kFarDeviations * Deviation(sorted, 0, split) &&
         gap > kFarDeviations * Deviation(sorted, split, sorted.size());
}

double DriftOf(const std::vector<double>& samples) {
  if (samples.size() < kLeastForDrift) return 0;
  const auto third = static_cast<std::ptrdiff_t>(samples.size() / 3);
  const double first =
      Median(std::vector<double>(samples.begin(), samples.begin() + third));
  const double last =
      Median(std::vector<double>(samples.end() - third, samples.end()));
  return last / first - 1;
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return MedianOfSorted(values, 0, values.size());
}

SampleStatistics Summarize(const std::vector<double>& samples) {
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const size_t count = sorted.size();
  SampleStatistics statistics;
  statistics.count = count;
  statistics.median = MedianOfSorted(sorted, 0, count);
  statistics.low = sorted.front();
  statistics.high = sorted.back();
  if (count >= kLeastForInterval) {
    // Ranks of a binomial distribution, by its normal approximation.
    const double half = static_cast<double>(count) / 2;
    const double reach =
        kNormalQuantile * std::sqrt(static_cast<double>(count)) / 2;
    const double rank = std::max(0.0, std::floor(half - reach));
    const size_t low = static_cast<size_t>(rank);
    statistics.low = sorted[low];
    statistics.high = sorted[count - 1 - low];
  }
  statistics.deviation = Deviation(sorted, 0, count);
  for (const double value : sorted) {
    if (std::abs(value - statistics.median) >
        kFarDeviations * statistics.deviation) {
      ++statistics.outliers;
    }
  }
  statistics.bimodal = HasTwoGroups(sorted);
  statistics.drift = DriftOf(samples);
  return statistics;
}

}  // namespace mansard::calibrate
