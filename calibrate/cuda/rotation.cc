#include "calibrate/cuda/rotation.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace mansard::calibrate {
namespace {

constexpr double kShareOfMemory = 0.25;

}  // namespace

absl::StatusOr<int64_t> PlanSets(int64_t set_bytes, int64_t cache_bytes,
                                 int64_t free_bytes) {
  const double set = static_cast<double>(std::max<int64_t>(set_bytes, 1));
  const double cold = kColdCaches * static_cast<double>(cache_bytes);
  const double room = kShareOfMemory * static_cast<double>(free_bytes);
  // A set that outgrows the caches is cold by itself; two keep the end of one
  // from helping the start of the next.
  const double wanted = std::clamp(std::ceil(cold / set), 2.0,
                                   static_cast<double>(kMostLaunches));
  const double fitting = std::floor(room / set);
  if (fitting >= wanted) return static_cast<int64_t>(wanted);
  if (fitting >= 1 && set >= cold) return 1;
  return absl::ResourceExhaustedError(absl::StrFormat(
      "needs %.0f MB of device memory, a quarter of the free memory is %.0f MB",
      std::max(cold, set) * 1e-6, room * 1e-6));
}

int64_t PlanLaunches(double seconds, int64_t sets) {
  const double needed =
      std::ceil(kLeastSampleSeconds / std::max(seconds, 1e-9));
  const double rounds = std::ceil(needed / static_cast<double>(sets));
  const int64_t most = std::max<int64_t>(kMostLaunches / sets, 1);
  return sets * std::clamp<int64_t>(static_cast<int64_t>(std::min(rounds, 1e9)),
                                    1, most);
}

double ClockBetween(const std::vector<ClockStamp>& start,
                    const std::vector<ClockStamp>& stop) {
  std::vector<double> clocks;
  for (size_t i = 0; i < std::min(start.size(), stop.size()); ++i) {
    if (start[i].nanoseconds == 0 ||
        stop[i].nanoseconds <= start[i].nanoseconds ||
        stop[i].clocks <= start[i].clocks) {
      continue;
    }
    clocks.push_back(
        static_cast<double>(stop[i].clocks - start[i].clocks) /
        static_cast<double>(stop[i].nanoseconds - start[i].nanoseconds) * 1e9);
  }
  if (clocks.empty()) return 0;
  const auto middle =
      clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
  std::nth_element(clocks.begin(), middle, clocks.end());
  return *middle;
}

}  // namespace mansard::calibrate
