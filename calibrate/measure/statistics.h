// Statistics of samples that are neither normal nor all good: by order.
#pragma once

#include <cstddef>
#include <vector>

namespace mansard::calibrate {

// Of numbers, not empty.
double Median(std::vector<double> values);

struct SampleStatistics {
  size_t count = 0;
  double median = 0;
  // 95 % confidence interval of the median by order statistics; below six
  // samples the smallest and the largest.
  double low = 0;
  double high = 0;
  double deviation = 0;  // Median absolute deviation.
  size_t outliers = 0;   // Farther than 5 deviations from the median.
  // Two groups of a fifth of the samples or more with a gap between them that
  // is wider than 5 deviations within either.
  bool bimodal = false;
  // Median of the last third over that of the first, minus 1; 0 below nine.
  double drift = 0;

  double RelativeHalfWidth() const { return (high - low) / 2 / median; }
};

// In the order they were taken. Nothing is dropped. Precondition: not empty.
SampleStatistics Summarize(const std::vector<double>& samples);

}  // namespace mansard::calibrate
