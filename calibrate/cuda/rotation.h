// How often a kernel runs in a graph, over how many buffers, and what a sample
// makes of the time.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace mansard::calibrate {

// A sample takes at least so long: what starts and stops it then shows no more.
inline constexpr double kLeastSampleSeconds = 200e-6;
// Buffers that are read anew lie so many times the L2 apart.
inline constexpr double kColdCaches = 3;
inline constexpr int64_t kMostLaunches = 4096;  // Of a graph.

// Buffers of `set_bytes` so that each is cold when its turn comes again, in no
// more than a quarter of the free memory. RESOURCE_EXHAUSTED: one has no room,
// or so few have that they would stay in L2.
absl::StatusOr<int64_t> PlanSets(int64_t set_bytes, int64_t cache_bytes,
                                 int64_t free_bytes);

// Launches of a graph: a whole number of rounds over the sets. `seconds`: of
// one launch, about.
int64_t PlanLaunches(double seconds, int64_t sets);

// What a multiprocessor says at one moment; 0 nanoseconds: it did not.
struct ClockStamp {
  uint64_t nanoseconds = 0;
  uint64_t clocks = 0;
};
// The median of what the multiprocessors that said something both times ran at
// in between; 0 where none did.
double ClockBetween(const std::vector<ClockStamp>& start,
                    const std::vector<ClockStamp>& stop);

}  // namespace mansard::calibrate
