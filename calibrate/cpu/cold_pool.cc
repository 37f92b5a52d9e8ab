#include "calibrate/cpu/cold_pool.h"

#include <cstdint>

namespace mansard::calibrate {

ColdPool::ColdPool(size_t elements) : data_(elements) {
  uint64_t state = 1;
  for (float& value : data_) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(state >> 40) * 0x1p-23f - 1;
  }
}

float* ColdPool::Take(size_t elements) {
  if (next_ + elements > data_.size()) next_ = 0;
  float* const taken = data_.data() + next_;
  // Rows start on a line of the cache.
  constexpr size_t kLine = 16;
  next_ += (elements + kLine - 1) / kLine * kLine;
  return taken;
}

}  // namespace mansard::calibrate
