#include "calibrate/fit/plan_basics.h"

namespace mansard::calibrate {
namespace {

constexpr double kTypicalClock = 1.7e9;

}  // namespace

double Multiprocessors(const model::Device& device) {
  const auto& count = device.spec().multiprocessor_count;
  return count.has_value() ? count->value : 1;
}

double Clock(const model::Device& device) {
  const auto& clock = device.spec().clock_hertz;
  return clock.has_value() ? clock->value : kTypicalClock;
}

std::optional<model::Format> CacheOf(absl::string_view slice) {
  if (slice == "bf16") return model::Format::kBf16;
  if (slice == "bf16 kv fp8") return model::Format::kFp8E4m3;
  return std::nullopt;
}

}  // namespace mansard::calibrate
