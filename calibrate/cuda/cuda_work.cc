#include "calibrate/cuda/cuda_work.h"

#include <algorithm>
#include <utility>

#include "calibrate/cuda/rotation.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

class CudaCase : public PreparedCase {
 public:
  CudaCase(Gpu& gpu, CudaWork work, ReadState read_state)
      : gpu_(gpu), work_(std::move(work)), read_state_(std::move(read_state)) {}

  absl::Status Verify() override {
    RETURN_IF_ERROR(work_.verify());
    RETURN_IF_ERROR(gpu_.Synchronize());
    if (work_.submitted > 0) return absl::OkStatus();
    // As many launches as a sample needs, by what one round takes.
    RETURN_IF_ERROR(Capture(work_.sets));
    ASSIGN_OR_RETURN(const HeldTime round, TimeGraph());
    const int64_t launches = PlanLaunches(
        round.seconds / static_cast<double>(work_.sets), work_.sets);
    return launches == launches_ ? absl::OkStatus() : Capture(launches);
  }

  absl::StatusOr<Sample> Run() override {
    if (work_.submitted > 0) return RunSubmitted();
    ASSIGN_OR_RETURN(const HeldTime time, TimeGraph());
    return MakeSample(time, work_.runs * static_cast<double>(launches_),
                      read_state_);
  }

 private:
  absl::Status Capture(int64_t launches) {
    graph_ = nullptr;
    ASSIGN_OR_RETURN(graph_, gpu_.Capture([&]() -> absl::Status {
      for (int64_t i = 0; i < launches; ++i) {
        RETURN_IF_ERROR(work_.enqueue(i % work_.sets));
      }
      return absl::OkStatus();
    }));
    launches_ = launches;
    return absl::OkStatus();
  }

  absl::StatusOr<HeldTime> TimeGraph() {
    return TimeHeld(gpu_, [this] { return gpu_.Enqueue(*graph_); });
  }

  // The host submits while the device runs: whichever is slower shows.
  absl::StatusOr<Sample> RunSubmitted() {
    RETURN_IF_ERROR(gpu_.MarkStart());
    for (int64_t i = 0; i < work_.submitted; ++i) {
      RETURN_IF_ERROR(work_.enqueue(i % work_.sets));
    }
    RETURN_IF_ERROR(gpu_.MarkStop());
    HeldTime time;
    ASSIGN_OR_RETURN(time.seconds, gpu_.SecondsBetweenMarks());
    ASSIGN_OR_RETURN(time.clock_hertz, gpu_.ClockBetweenMarks());
    return MakeSample(time, work_.runs * static_cast<double>(work_.submitted),
                      read_state_);
  }

  Gpu& gpu_;
  const CudaWork work_;
  const ReadState read_state_;
  std::unique_ptr<GpuGraph> graph_;
  int64_t launches_ = 0;
};

}  // namespace

absl::StatusOr<HeldTime> TimeHeld(
    Gpu& gpu, const std::function<absl::Status()>& enqueue) {
  RETURN_IF_ERROR(gpu.Hold());
  absl::Status status = gpu.MarkStart();
  if (status.ok()) status = enqueue();
  if (status.ok()) status = gpu.MarkStop();
  // Whatever happened: the stream waits.
  status.Update(gpu.Release());
  RETURN_IF_ERROR(status);
  HeldTime time;
  ASSIGN_OR_RETURN(time.seconds, gpu.SecondsBetweenMarks());
  ASSIGN_OR_RETURN(time.clock_hertz, gpu.ClockBetweenMarks());
  return time;
}

Sample MakeSample(const HeldTime& time, double runs,
                  const ReadState& read_state) {
  Sample sample{time.seconds / runs, time.clock_hertz};
  if (read_state == nullptr) return sample;
  const GpuState state = read_state();
  if (sample.clock_hertz == 0) {
    sample.clock_hertz = state.clock_hertz.value_or(0);
  }
  sample.disturbance = DisturbanceOf(state);
  sample.remark = StateText(state);
  return sample;
}

std::unique_ptr<PreparedCase> MakeCudaCase(Gpu& gpu, CudaWork work,
                                           ReadState read_state) {
  return std::make_unique<CudaCase>(gpu, std::move(work),
                                    std::move(read_state));
}

}  // namespace mansard::calibrate
