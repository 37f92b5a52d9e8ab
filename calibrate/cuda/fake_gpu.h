// A device in the host's memory, on a clock that only it moves. For tests.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <set>

#include "calibrate/cuda/fake_kernels.h"
#include "calibrate/cuda/gpu.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {

struct FakeGraph : GpuGraph {
  std::function<absl::Status()> enqueue;
};

// Its stream runs at once what is enqueued; each launch takes launch_seconds.
class FakeGpu : public Gpu {
 public:
  GpuFacts own = {.name = "Fake GPU",
                  .id_hash = "fa4e",
                  .major = 9,
                  .multiprocessors = 4,
                  .clock_hertz = 1.5e9,
                  .l2_bytes = 1 << 16,
                  .memory_bytes = int64_t{1} << 32};
  FakeKernels own_kernels;
  double launch_seconds = 10e-6;
  int64_t free_bytes = int64_t{1} << 30;
  bool reaches_peers = true;
  int holds = 0;  // Less releases.
  int captures = 0;
  std::set<void*> live;  // Memory, host's too.

  ~FakeGpu() override {
    for (void* memory : live) std::free(memory);
  }
  const GpuFacts& facts() const override { return own; }
  GpuKernels& kernels() override { return own_kernels; }
  void* stream() override { return this; }
  absl::Status MakeCurrent() override { return absl::OkStatus(); }
  absl::StatusOr<void*> Allocate(int64_t bytes) override {
    if (bytes > free_bytes) return absl::ResourceExhaustedError("no room");
    void* const memory = std::malloc(static_cast<size_t>(bytes));
    // Poison.
    std::memset(memory, 0xff, static_cast<size_t>(bytes));
    live.insert(memory);
    return memory;
  }
  absl::StatusOr<void*> AllocateHost(int64_t bytes) override {
    return Allocate(bytes);
  }
  void Free(void* memory) override {
    live.erase(memory);
    std::free(memory);
  }
  void FreeHost(void* memory) override { Free(memory); }
  absl::StatusOr<int64_t> FreeBytes() override { return free_bytes; }
  absl::Status Write(const void* from, void* to, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status Read(const void* from, void* to, int64_t bytes) override {
    return Write(from, to, bytes);
  }
  absl::Status Synchronize() override { return absl::OkStatus(); }
  absl::Status SetBytes(void* to, int value, int64_t bytes) override {
    std::memset(to, value, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  absl::Status EnqueueCopy(const void* from, void* to, int64_t bytes) override {
    if (own_kernels.spoil(1) == 1) RETURN_IF_ERROR(Write(from, to, bytes));
    return own_kernels.Ran();
  }
  absl::Status AllowPeer(Gpu&) override {
    return reaches_peers ? absl::OkStatus()
                         : absl::UnimplementedError("out of reach");
  }
  absl::StatusOr<std::unique_ptr<GpuGraph>> Capture(
      const std::function<absl::Status()>& enqueue) override {
    ++captures;
    // Counts the launches without running them twice over: they are harmless.
    const int64_t before = own_kernels.launches;
    RETURN_IF_ERROR(enqueue());
    auto graph = std::make_unique<FakeGraph>();
    graph->enqueue = [this, count = own_kernels.launches - before] {
      own_kernels.launches += count;
      return absl::OkStatus();
    };
    return graph;
  }
  absl::Status Enqueue(GpuGraph& graph) override {
    return static_cast<FakeGraph&>(graph).enqueue();
  }
  absl::Status Hold() override {
    ++holds;
    return absl::OkStatus();
  }
  absl::Status Release() override {
    --holds;
    return absl::OkStatus();
  }
  absl::Status MarkStart() override {
    start_ = own_kernels.launches;
    return absl::OkStatus();
  }
  absl::Status MarkStop() override {
    stop_ = own_kernels.launches;
    return absl::OkStatus();
  }
  absl::StatusOr<double> SecondsBetweenMarks() override {
    return static_cast<double>(stop_ - start_) * launch_seconds;
  }
  absl::StatusOr<double> ClockBetweenMarks() override { return 1.4e9; }

 private:
  int64_t start_ = 0;
  int64_t stop_ = 0;
};

}  // namespace mansard::calibrate
