// Memory that is never in a cache.
#pragma once

#include <cstddef>
#include <vector>

namespace mansard::calibrate {

// Buffers of random data that lie beyond the caches: what is taken from it one
// after the other is cold again when it comes round.
class ColdPool {
 public:
  // `elements` floats in [-1, 1).
  explicit ColdPool(size_t elements);
  // The next `elements` of it. Precondition: it holds as many.
  float* Take(size_t elements);
  size_t size() const { return data_.size(); }

 private:
  std::vector<float> data_;
  size_t next_ = 0;
};

}  // namespace mansard::calibrate
