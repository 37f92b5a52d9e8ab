// One CUDA device as the host's logic uses it: memory, a stream, graphs, and
// the kernels of our own. Implemented by cuda_gpu.cc; fake_gpu.h is the one of
// tests, in host memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/cuda/rotation.h"
#include "model/base/format.h"

namespace mansard::calibrate {

struct GpuFacts {
  std::string name = "";
  std::string id_hash = "";      // Of its UUID; hex.
  std::string pci_address = "";  // As NVML takes it.
  int ordinal = 0;               // Of those that are visible.
  int major = 0;                 // Compute capability.
  int minor = 0;
  int multiprocessors = 1;
  double clock_hertz = 0;  // The highest.
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int64_t shared_bytes_per_multiprocessor = 0;
  std::string runtime = "";  // "driver 13.0, runtime 13.0".
};

struct GpuAttention {
  int64_t requests = 0;
  int64_t tokens = 0;
  int query_heads = 0;
  int kv_heads = 0;
  int head_size = 0;
};

// Kernels of our own, each enqueued on the device's stream; see device_code.h.
class GpuKernels {
 public:
  virtual ~GpuKernels() = default;
  virtual absl::Status FillRandom(model::Format format, void* to, int64_t bytes,
                                  uint64_t seed) = 0;
  virtual absl::Status Copy(const void* from, void* to, int64_t bytes) = 0;
  virtual absl::Status Triad(const float* a, const float* b, float scale,
                             float* to, int64_t bytes) = 0;
  virtual absl::Status Read(const void* from, int64_t bytes, int64_t blocks,
                            int64_t loads, uint32_t* sum) = 0;
  virtual absl::Status CacheRead(const void* from, int64_t bytes, int passes,
                                 uint32_t* sum) = 0;
  virtual absl::Status SharedRead(int steps, uint32_t* sum) = 0;
  virtual absl::Status Chase(const uint32_t* list, int steps, uint32_t* at) = 0;
  virtual absl::Status Empty() = 0;
  virtual absl::Status MultiplyAdd(model::Format format, int steps,
                                   float* to) = 0;
  virtual absl::Status TensorMultiplyAdd(model::Format format, int steps,
                                         bool random, float* to) = 0;
  virtual absl::Status Exponential(int steps, float* to) = 0;
  virtual absl::Status Norm(const void* from, const void* weights, void* to,
                            int64_t rows, int64_t columns) = 0;
  virtual absl::Status Activation(const void* gate_up, void* to, int64_t rows,
                                  int64_t columns) = 0;
  virtual absl::Status Residual(const void* a, const void* b, void* to,
                                int64_t count) = 0;
  virtual absl::Status Quantize(const void* from, void* to, float* scales,
                                int64_t rows, int64_t columns) = 0;
  virtual absl::Status Prefill(const GpuAttention& shape, const void* queries,
                               const void* keys, const void* values,
                               void* outputs) = 0;
  virtual absl::Status Decode(const GpuAttention& shape, int64_t parts,
                              const void* queries, const void* keys,
                              const void* values, void* outputs,
                              float* room) = 0;
  // Blocks of CacheRead and SharedRead, of 512 threads; threads of the three
  // kernels after Empty.
  virtual int CacheBlocks() const = 0;
  virtual int PeakThreads() const = 0;
};

// A graph of what was enqueued while it was captured.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
};

// Not for two threads. All that is enqueued goes to one stream, in order.
class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const GpuFacts& facts() const = 0;
  virtual GpuKernels& kernels() = 0;
  virtual void* stream() = 0;  // A cudaStream_t, for libraries.
  // Of calls that follow; needed where there are several devices.
  virtual absl::Status MakeCurrent() = 0;

  // RESOURCE_EXHAUSTED: there is no room. 256 bytes aligned.
  virtual absl::StatusOr<void*> Allocate(int64_t bytes) = 0;
  virtual absl::StatusOr<void*> AllocateHost(int64_t bytes) = 0;
  virtual void Free(void* memory) = 0;
  virtual void FreeHost(void* memory) = 0;
  virtual absl::StatusOr<int64_t> FreeBytes() = 0;

  // At once, after all that is enqueued.
  virtual absl::Status Write(const void* from, void* to, int64_t bytes) = 0;
  virtual absl::Status Read(const void* from, void* to, int64_t bytes) = 0;
  virtual absl::Status Synchronize() = 0;
  // Enqueued; copies by any pair of page-locked host, own and peer memory.
  virtual absl::Status SetBytes(void* to, int value, int64_t bytes) = 0;
  virtual absl::Status EnqueueCopy(const void* from, void* to,
                                   int64_t bytes) = 0;
  // UNIMPLEMENTED: the devices do not reach each other.
  virtual absl::Status AllowPeer(Gpu& peer) = 0;

  virtual absl::StatusOr<std::unique_ptr<GpuGraph>> Capture(
      const std::function<absl::Status()>& enqueue) = 0;
  virtual absl::Status Enqueue(GpuGraph& graph) = 0;

  // The stream waits where Hold stands until Release, so that what is enqueued
  // in between runs without a pause.
  virtual absl::Status Hold() = 0;
  virtual absl::Status Release() = 0;
  // Seconds between the two marks, once the second is passed. DEADLINE_EXCEEDED
  // where a Hold gave up waiting: they are then too many.
  virtual absl::Status MarkStart() = 0;
  virtual absl::Status MarkStop() = 0;
  virtual absl::StatusOr<double> SecondsBetweenMarks() = 0;
  // What the multiprocessors ran at from mark to mark, in hertz; 0: unknown.
  virtual absl::StatusOr<double> ClockBetweenMarks() = 0;
};

// Device memory; freed with this.
class GpuMemory {
 public:
  static absl::StatusOr<GpuMemory> Make(Gpu& gpu, int64_t bytes) {
    absl::StatusOr<void*> data = gpu.Allocate(bytes);
    if (!data.ok()) return data.status();
    return GpuMemory(gpu, *data, bytes, /*host=*/false);
  }
  static absl::StatusOr<GpuMemory> MakeHost(Gpu& gpu, int64_t bytes) {
    absl::StatusOr<void*> data = gpu.AllocateHost(bytes);
    if (!data.ok()) return data.status();
    return GpuMemory(gpu, *data, bytes, /*host=*/true);
  }
  GpuMemory(GpuMemory&& other) noexcept
      : gpu_(other.gpu_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(other.bytes_),
        host_(other.host_) {}
  GpuMemory& operator=(GpuMemory&&) = delete;
  ~GpuMemory() {
    if (data_ == nullptr) return;
    if (host_) {
      gpu_->FreeHost(data_);
    } else {
      gpu_->Free(data_);
    }
  }
  void* data() const { return data_; }
  // From `offset` bytes on.
  template <class Value>
  Value* at(int64_t offset = 0) const {
    return reinterpret_cast<Value*>(static_cast<char*>(data_) + offset);
  }
  int64_t bytes() const { return bytes_; }

 private:
  GpuMemory(Gpu& gpu, void* data, int64_t bytes, bool host)
      : gpu_(&gpu), data_(data), bytes_(bytes), host_(host) {}
  Gpu* gpu_;
  void* data_;
  int64_t bytes_;
  bool host_;
};

}  // namespace mansard::calibrate
