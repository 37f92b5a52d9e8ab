// Computation and communication at the same time.
#pragma once

namespace mansard::model {

// Two-batch overlap: the requests go in two halves, and while one half
// communicates the other computes. Of the streams' times A and B,
//   T = max(A, B) + (1 - efficiency) min(A, B)
// Source: Mansard design, performance model §1.10. The efficiency is an
// expectation, 0.8 +- 0.2, and not measured.
struct Overlap {
  static constexpr double kDefaultEfficiency = 0.8;
  // Of the efficiency, to either side, within 0 to 1.
  static constexpr double kEfficiencySpread = 0.2;

  double efficiency = kDefaultEfficiency;
  // That communication takes from computation throughout; 0 where copy engines
  // or network cards move the data.
  int multiprocessors = 0;

  bool operator==(const Overlap&) const = default;
};

}  // namespace mansard::model
