// What can limit an op, and the values kept for each.
#pragma once

#include <array>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/hardware/fabric.h"

namespace mansard::model {

enum class Resource {
  kTensor,
  kVector,
  kSfu,
  kSmem,
  kL2,
  kHbm,
  kNvlink,
  kPcie,
  kRdma,
  kLaunch,
  kSync,
  kHost,
};
inline constexpr int kResourceCount = 12;
absl::string_view ResourceName(Resource resource);

enum class Bound { kCompute, kMemory, kCommunication, kOverhead };
inline constexpr int kBoundCount = 4;
absl::string_view BoundName(Bound bound);
Bound BoundOf(Resource resource);
Resource ResourceOf(LinkTier tier);

// One value a resource.
template <class T>
class PerResource {
 public:
  T& operator[](Resource r) { return values_[static_cast<size_t>(r)]; }
  const T& operator[](Resource r) const {
    return values_[static_cast<size_t>(r)];
  }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::array<T, kResourceCount> values_{};
};

}  // namespace mansard::model
