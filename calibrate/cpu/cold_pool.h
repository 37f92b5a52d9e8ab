// Memory that is never in a cache.
#pragma once

#include <cstddef>
#include <memory>

namespace mansard::calibrate {

// Weights lie in large pages where the system has them: what rows of a matrix
// cost shall not depend on how many of them lie in pages of their own. What
// kernels hand on lies in pages as an allocator has them.
enum class PageSize { kLarge, kUsual };

// Buffers of random data that lie beyond the caches: what is taken from it one
// after the other is cold again when it comes round.
class ColdPool {
 public:
  // `elements` floats in [-1, 1).
  ColdPool(size_t elements, PageSize pages);
  // The next `elements` of it. Precondition: it holds as many.
  float* Take(size_t elements);
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(float* data) const;
  };
  size_t size_;
  std::unique_ptr<float, Free> data_;
  size_t next_ = 0;
};

}  // namespace mansard::calibrate
