// A time as a function of a whole number, made once and looked up often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "model/base/units.h"

namespace mansard::model {

// Every number up to kEach is a node. Beyond, nodes are at both sides of the
// multiples of 64 (of the largest power of two within a 64th of the number,
// where that is more): there tiles of rows begin. Between two nodes the time is
// a straight line; where it is not within kTolerance of it at every eighth of
// the way, the halves get nodes of their own: a step, wherever it is,
// ends between neighbours. At a node the time is exact. Immutable; may be
// shared between threads.
class TimeCurve {
 public:
  static constexpr int64_t kEach = 256;
  static constexpr int64_t kLongest = int64_t{1} << 30;
  static constexpr double kTolerance = 2.5e-4;

  // Zero everywhere.
  TimeCurve() = default;
  // `time` is asked for numbers from 1 to `last`, some twice; zero stands for
  // 0. Preconditions: 1 <= last <= kLongest; times are finite, not negative.
  TimeCurve(int64_t last, absl::FunctionRef<Seconds(int64_t)> time);

  // Precondition: 0 <= x <= last. Allocates nothing.
  Seconds At(int64_t x) const;

  struct Extremes {
    Seconds least;
    Seconds most;
  };
  // Of At over first to last, which may be one. Preconditions: as of At.
  // Allocates nothing; takes as long as there are nodes between.
  Extremes Over(int64_t first, int64_t last) const;

  size_t nodes() const { return times_.size(); }
  // True of numbers that are nodes.
  bool HasNode(int64_t x) const;
  size_t memory_bytes() const {
    return xs_.capacity() * sizeof(int32_t) +
           times_.capacity() * sizeof(double);
  }

 private:
  struct Node {
    int64_t x = 0;
    double time = 0;
  };
  class Builder;
  void Add(const Node& node);
  // The index of the last node at or before x.
  size_t NodeBefore(int64_t x) const;

  std::vector<int32_t> xs_;  // Ascending from 0.
  std::vector<double> times_;
};

}  // namespace mansard::model
