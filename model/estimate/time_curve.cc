#include "model/estimate/time_curve.h"

#include <algorithm>
#include <cmath>

namespace mansard::model {
namespace {

constexpr int64_t kStep = 64;

// Of the piece that begins after x.
int64_t PieceLength(int64_t x) {
  int64_t length = kStep;
  while (length * 2 <= x / kStep) length *= 2;
  return length;
}

}  // namespace

// Nodes in ascending order.
class TimeCurve::Builder {
 public:
  Builder(absl::FunctionRef<Seconds(int64_t)> time, TimeCurve& curve)
      : time_(time), curve_(curve) {}

  void Run(int64_t last) {
    curve_.Add({0, 0});
    const int64_t each = std::min(last, kEach);
    for (int64_t x = 1; x <= each; ++x) curve_.Add(At(x));
    for (int64_t x = each; x < last;) {
      const int64_t length = PieceLength(x);
      const int64_t end = std::min(last, (x / length + 1) * length);
      const Node begin = At(x + 1);
      curve_.Add(begin);
      if (end > begin.x) Fill(begin, At(end));
      x = end;
    }
  }

 private:
  Node At(int64_t x) const { return {x, time_(x).value()}; }

  // The line from `begin` to `end` meets the time there.
  static bool IsOnLine(const Node& node, const Node& begin, const Node& end) {
    const double share = static_cast<double>(node.x - begin.x) /
                         static_cast<double>(end.x - begin.x);
    const double line = begin.time + share * (end.time - begin.time);
    return std::abs(line - node.time) <= kTolerance * node.time;
  }

  // The line meets the time at every eighth. Of equal steps between the two, an
  // odd number shows in the middle already; tiles that begin at multiples
  // always make an odd number.
  bool IsStraight(const Node& begin, const Node& middle,
                  const Node& end) const {
    if (!IsOnLine(middle, begin, end)) return false;
    const int64_t length = end.x - begin.x;
    for (const int eighth : {2, 6, 1, 3, 5, 7}) {
      const int64_t x = begin.x + length * eighth / 8;
      if (x > begin.x && x != middle.x && !IsOnLine(At(x), begin, end)) {
        return false;
      }
    }
    return true;
  }

  // Nodes after `begin`, `end` included.
  void Fill(const Node& begin, const Node& end) {
    if (end.x - begin.x > 1) {
      const Node middle = At((begin.x + end.x) / 2);
      if (!IsStraight(begin, middle, end)) {
        Split(begin, middle, end);
        return;
      }
    }
    curve_.Add(end);
  }

  // The step, if it is one, may lie right behind the middle.
  void Split(const Node& begin, const Node& middle, const Node& end) {
    if (middle.x > begin.x) Fill(begin, middle);
    if (middle.x + 1 == end.x) {
      curve_.Add(end);
      return;
    }
    const Node next = At(middle.x + 1);
    curve_.Add(next);
    Fill(next, end);
  }

  absl::FunctionRef<Seconds(int64_t)> time_;
  TimeCurve& curve_;
};

TimeCurve::TimeCurve(int64_t last, absl::FunctionRef<Seconds(int64_t)> time) {
  Builder(time, *this).Run(last);
  xs_.shrink_to_fit();
  times_.shrink_to_fit();
}

void TimeCurve::Add(const Node& node) {
  xs_.push_back(static_cast<int32_t>(node.x));
  times_.push_back(node.time);
}

size_t TimeCurve::NodeBefore(int64_t x) const {
  return static_cast<size_t>(std::upper_bound(xs_.begin(), xs_.end(), x) -
                             xs_.begin()) -
         1;
}

bool TimeCurve::HasNode(int64_t x) const {
  return std::binary_search(xs_.begin(), xs_.end(), x);
}

Seconds TimeCurve::At(int64_t x) const {
  if (times_.empty()) return Seconds::Zero();
  if (x <= kEach) return Seconds::Of(times_[static_cast<size_t>(x)]);
  const size_t i = NodeBefore(x);
  if (xs_[i] == x) return Seconds::Of(times_[i]);
  const double share = static_cast<double>(x - xs_[i]) /
                       static_cast<double>(xs_[i + 1] - xs_[i]);
  return Seconds::Of(times_[i] + share * (times_[i + 1] - times_[i]));
}

TimeCurve::Extremes TimeCurve::Over(int64_t first, int64_t last) const {
  const Seconds begin = At(first);
  const Seconds end = At(last);
  Extremes all{Min(begin, end), Max(begin, end)};
  if (times_.empty() || last - first < 2) return all;
  for (size_t i = NodeBefore(first) + 1; xs_[i] < last; ++i) {
    all.least = Min(all.least, Seconds::Of(times_[i]));
    all.most = Max(all.most, Seconds::Of(times_[i]));
  }
  return all;
}

}  // namespace mansard::model
