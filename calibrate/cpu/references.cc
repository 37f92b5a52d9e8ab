#include "calibrate/cpu/references.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace mansard::calibrate {

std::shared_ptr<Floats> RandomFloats(int64_t count, uint64_t seed) {
  Randoms randoms(seed);
  auto floats = std::make_shared<Floats>(static_cast<size_t>(count));
  for (float& value : *floats) value = randoms.Signed();
  return floats;
}

std::shared_ptr<Floats> PoisonedFloats(int64_t count) {
  return std::make_shared<Floats>(static_cast<size_t>(count), std::nanf(""));
}

absl::Status ExpectNear(absl::string_view place, double value, double reference,
                        double size) {
  constexpr double kTolerance = 1e-5;
  if (std::abs(value - reference) <= kTolerance * std::max(size, 1e-3)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrFormat("%s is %.9g, must be %.9g", place, value, reference));
}

}  // namespace mansard::calibrate
