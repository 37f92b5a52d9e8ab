// A case of the CUDA backend with its buffers filled, and how it is timed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/cuda/gpu.h"
#include "calibrate/cuda/nvml.h"
#include "calibrate/measure/backend.h"

namespace mansard::calibrate {

struct CudaWork {
  // Held while it is measured.
  std::vector<std::shared_ptr<GpuMemory>> memory = {};
  // Enqueues one launch on the set of buffers of that number, of `sets`.
  std::function<absl::Status(int64_t set)> enqueue;
  int64_t sets = 1;
  // Runs it once and holds the result against a reference. DATA_LOSS names
  // what is wrong.
  std::function<absl::Status()> verify;
  double runs = 1;  // Of the case, in one launch.
  // Launches are submitted one by one, so many a sample; 0: by a graph, behind
  // one another without a pause.
  int64_t submitted = 0;
};

// Seconds and clock of what `enqueue` enqueues, all of it submitted before it
// starts. Error: enqueue's, the device's.
struct HeldTime {
  double seconds = 0;
  double clock_hertz = 0;  // 0: unknown.
};
absl::StatusOr<HeldTime> TimeHeld(Gpu& gpu,
                                  const std::function<absl::Status()>& enqueue);

// Sample of `runs` runs in a time, with what the device says of itself.
// `read_state` may be empty.
Sample MakeSample(const HeldTime& time, double runs,
                  const ReadState& read_state);

// `gpu` outlives it.
std::unique_ptr<PreparedCase> MakeCudaCase(Gpu& gpu, CudaWork work,
                                           ReadState read_state);

}  // namespace mansard::calibrate
