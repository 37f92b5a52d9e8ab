// How far predictions are from measurements.
#pragma once

#include <cstddef>
#include <vector>

namespace mansard::calibrate {

// Fractions of the measured time; all 0 without rows.
struct Errors {
  size_t rows = 0;
  double mean = 0;  // Of the sizes, as the next two: the MAPE.
  double median = 0;
  double p90 = 0;
  double bias = 0;      // Mean of (predicted - measured) / measured.
  double in_range = 0;  // Share of rows between the answer's p10 and p90.
};

class ErrorSums {
 public:
  // `error`: (predicted - measured) / measured.
  void Add(double error, bool in_range);
  // Quantiles lie on the line between the two nearest rows.
  Errors Result();

 private:
  std::vector<double> sizes_;
  double bias_ = 0;
  double in_range_ = 0;
};

// One tenth of a group's rows by size, the smallest first.
struct Decile {
  double from = 0;  // Least and largest size.
  double to = 0;
  Errors errors;
};
struct SizedError {
  double size = 0;
  double error = 0;
  bool in_range = false;
};
// As many as there are rows where those are fewer than ten.
std::vector<Decile> DecilesOf(std::vector<SizedError> rows);

}  // namespace mansard::calibrate
