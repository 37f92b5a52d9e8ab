// Searches over batch sizes that look at ranges before they look at batches.
// Internal to model/serving.
#pragma once

#include <cmath>
#include <cstdint>

namespace mansard::model {

// The first of `first` to `last` that `fails`; last + 1 where none does.
// `none_fails(a, b)` is true only where none of a to b does; it may always be
// false. Nothing needs to be monotone: every batch before the answer is looked
// at, or in a range that was.
template <class Fails, class NoneFails>
int64_t FirstFailing(int64_t first, int64_t last, const Fails& fails,
                     const NoneFails& none_fails) {
  // A range costs about as much as two batches.
  constexpr int64_t kOneByOne = 3;
  if (first > last) return first;
  if (last - first < kOneByOne) {
    for (int64_t batch = first; batch <= last; ++batch) {
      if (fails(batch)) return batch;
    }
    return last + 1;
  }
  if (none_fails(first, last)) return last + 1;
  const int64_t middle = first + (last - first) / 2;
  const int64_t found = FirstFailing(first, middle, fails, none_fails);
  if (found <= middle) return found;
  return FirstFailing(middle + 1, last, fails, none_fails);
}

// The batch of `first` to `last` with the least cost, the first of equal ones;
// first - 1 where none has one. `cost(b)` is infinite where b may not be taken;
// `least_cost(a, b)` is at most the cost of each of a to b. Looks at the upper
// half of a range first where `from_above`: there lie the least costs, mostly.
template <class Cost, class LeastCost>
class CheapestBatch {
 public:
  CheapestBatch(const Cost& cost, const LeastCost& least_cost, bool from_above)
      : cost_(cost), least_cost_(least_cost), from_above_(from_above) {}

  int64_t Find(int64_t first, int64_t last, double infinity) {
    best_ = first - 1;
    best_cost_ = infinity;
    if (first <= last) Search(first, last);
    return best_;
  }
  double cost() const { return best_cost_; }

 private:
  void Look(int64_t batch) {
    const double cost = cost_(batch);
    if (cost > best_cost_ || (cost == best_cost_ && batch >= best_)) return;
    best_cost_ = cost;
    best_ = batch;
  }

  void Search(int64_t first, int64_t last) {
    if (last - first < 3) {
      for (int64_t batch = first; batch <= last; ++batch) Look(batch);
      return;
    }
    const double least = least_cost_(first, last);
    if (std::isinf(least) || least > best_cost_) return;
    const int64_t middle = first + (last - first) / 2;
    if (from_above_) {
      Search(middle + 1, last);
      Search(first, middle);
    } else {
      Search(first, middle);
      Search(middle + 1, last);
    }
  }

  const Cost& cost_;
  const LeastCost& least_cost_;
  const bool from_above_;
  int64_t best_ = 0;
  double best_cost_ = 0;
};

}  // namespace mansard::model
