// How certain a step's time is and what bounds it, from a coarse table: both
// change slowly with the pass, so that a scheduler need not price every op.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/estimate/estimate.h"
#include "model/hardware/kernel_families.h"
#include "model/price/resource.h"

namespace mansard::model {

// What of an estimate goes with its time.
struct StepRatios {
  double p10 = 1;  // Of the time; at most 1.
  double p90 = 1;  // At least 1.
  Bound bound = Bound::kMemory;
  Tier tier = Tier::kSpec;
  // Some op of the nearest pass in the table is beyond what its family was
  // fitted on, or the pass is beyond the table.
  bool extrapolated = false;
};

// Where tables end; of one data rank.
struct StepRatioLimits {
  int64_t decode_tokens = 1024;
  int64_t prompt_tokens = 8192;
  int64_t context = 131072;
};

// Passes of each phase, estimated whole when the table is made, over
// logarithmic axes: new tokens of decodes and of prompts, and the mean
// positions that each of them attends to. Between passes ratios and shares of
// bounds are interpolated in a straight line. Immutable; may be shared between
// threads.
class StepRatioTable {
 public:
  // Estimates some hundred passes. Preconditions: limits are 1 or more. Keeps
  // nothing of the target.
  StepRatioTable(const Target& target, const StepRatioLimits& limits);

  // Of a pass of the table's target. Drafts, encoders and routing are not
  // looked at. Allocates nothing.
  StepRatios At(const ForwardPass& pass) const;

  size_t passes() const;
  size_t memory_bytes() const;

 private:
  // Evenly spaced logarithms.
  struct Axis {
    double first = 0;  // log2.
    double step = 1;
    int count = 1;

    double ValueAt(int index) const;
  };
  static Axis AxisOver(double first, double last, int count);

  struct Node {
    float p10 = 1;
    float p90 = 1;
    std::array<float, kBoundCount> bounds = {};
    Tier tier = Tier::kCalibrated;
    bool extrapolated = false;
  };
  static constexpr int kMostAxes = 4;
  using Point = std::array<double, kMostAxes>;  // By axis, log2.
  struct Table {
    std::array<Axis, kMostAxes> axes;
    int axis_count = 0;
    std::vector<Node> nodes;  // The last axis varies fastest.
  };

  Node Estimated(const Target& target, const Point& point, Phase phase) const;
  void Fill(const Target& target, Phase phase, Table& table);
  static StepRatios Interpolate(const Table& table, const Point& point);

  const Table& TableOf(Phase phase) const {
    return tables_[static_cast<size_t>(phase)];
  }

  double ranks_ = 1;  // Data ranks.
  std::array<Table, 3> tables_;
};

}  // namespace mansard::model
