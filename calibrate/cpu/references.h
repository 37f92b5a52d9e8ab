// Random data for cases, and how results are held against references. Internal
// to calibrate/cpu.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

using Floats = std::vector<float>;

// A generator of our own: fast, and the same everywhere.
class Randoms {
 public:
  explicit Randoms(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  float Signed() { return static_cast<float>(Bits() >> 40) * 0x1p-23f - 1; }
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(Bits() % static_cast<uint64_t>(count));
  }

 private:
  uint64_t state_;
};

// In [-1, 1).
std::shared_ptr<Floats> RandomFloats(int64_t count, uint64_t seed);

// NaN throughout: a result that is not written shows.
std::shared_ptr<Floats> PoisonedFloats(int64_t count);

// DATA_LOSS unless the value is within 1e-5 of `size`, the sum of the
// magnitudes that were added up. A NaN is never near.
absl::Status ExpectNear(absl::string_view place, double value, double reference,
                        double size);

inline constexpr int kChecked = 16;  // Elements of a result, at random.

}  // namespace mansard::calibrate
