#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibrate/gpu.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr int kThreadsPerBlock = 512;
constexpr int kBlocksPerMultiprocessor = 8;
constexpr int kRepeats = 21;
constexpr int64_t kMaxBufferBytes = int64_t{4} << 30;
// A pass over less than this many times L2 would be served by L2 in part.
constexpr int64_t kMinL2Multiple = 8;
// The buffer holds the index of each 32-bit word modulo this.
constexpr uint64_t kPatternPeriod = 1 << 16;
constexpr int64_t kPatternBytes = kPatternPeriod * sizeof(uint32_t);

absl::Status FromCuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(call, ": ", cudaGetErrorString(error)));
}
#define RETURN_IF_CUDA_ERROR(call) RETURN_IF_ERROR(FromCuda(call, #call))

__global__ void FillKernel(uint4* words, int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const uint32_t first = static_cast<uint32_t>(4 * i % kPatternPeriod);
    words[i] = make_uint4(first, first + 1, first + 2, first + 3);
  }
}

// Adds the sum of all words to *sum, in streaming loads of 16 bytes.
__global__ void ReadKernel(const uint4* words, int64_t count,
                           unsigned long long* sum) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  unsigned long long partial = 0;
#pragma unroll 8
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const uint4 loaded = __ldcs(words + i);
    partial += loaded.x + loaded.y + loaded.z + loaded.w;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    partial += __shfl_down_sync(0xffffffffu, partial, lanes);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(sum, partial);
}

absl::StatusOr<DeviceRecord> ReadDevice(int device) {
  cudaDeviceProp properties;
  int clock_kilohertz = 0;
  int memory_clock_kilohertz = 0;
  DeviceRecord record;
  RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, device));
  RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&clock_kilohertz, cudaDevAttrClockRate, device));
  RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(
      &memory_clock_kilohertz, cudaDevAttrMemoryClockRate, device));
  RETURN_IF_CUDA_ERROR(cudaDriverGetVersion(&record.cuda_version));
  record.name = properties.name;
  record.compute_capability_major = properties.major;
  record.compute_capability_minor = properties.minor;
  record.multiprocessor_count = properties.multiProcessorCount;
  record.clock_hertz = clock_kilohertz * 1e3;
  record.smem_bytes_per_multiprocessor =
      static_cast<int64_t>(properties.sharedMemPerMultiprocessor);
  record.l2_bytes = properties.l2CacheSize;
  record.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  record.memory_clock_hertz = memory_clock_kilohertz * 1e3;
  record.memory_bus_bits = properties.memoryBusWidth;
  return record;
}

// Device memory full of the pattern, and what timing a pass over it needs.
struct ReadStream {
  ReadStream() = default;
  ReadStream(const ReadStream&) = delete;
  ReadStream& operator=(const ReadStream&) = delete;
  ~ReadStream() {
    cudaFree(words);
    cudaFree(sum);
    if (start != nullptr) cudaEventDestroy(start);
    if (stop != nullptr) cudaEventDestroy(stop);
  }

  // Up to half of the free memory, in whole pattern periods.
  absl::Status Prepare(const DeviceRecord& record) {
    size_t free_bytes = 0, total_bytes = 0;
    RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free_bytes, &total_bytes));
    bytes = std::min(kMaxBufferBytes, static_cast<int64_t>(free_bytes / 2)) /
            kPatternBytes * kPatternBytes;
    const int64_t min_bytes =
        std::max(kMinL2Multiple * record.l2_bytes, kPatternBytes);
    if (bytes < min_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(free_bytes, " bytes of device memory are free; needs ",
                       2 * min_bytes));
    }
    load_count = bytes / static_cast<int64_t>(sizeof(uint4));
    blocks = record.multiprocessor_count * kBlocksPerMultiprocessor;
    RETURN_IF_CUDA_ERROR(cudaMalloc(&words, bytes));
    RETURN_IF_CUDA_ERROR(cudaMalloc(&sum, sizeof(*sum)));
    RETURN_IF_CUDA_ERROR(cudaEventCreate(&start));
    RETURN_IF_CUDA_ERROR(cudaEventCreate(&stop));
    FillKernel<<<blocks, kThreadsPerBlock>>>(words, load_count);
    return FromCuda(cudaGetLastError(), "FillKernel");
  }

  // Milliseconds of one pass, whose sum is checked.
  absl::StatusOr<float> Pass() {
    const uint64_t periods = static_cast<uint64_t>(bytes / kPatternBytes);
    const uint64_t expected =
        periods * (kPatternPeriod * (kPatternPeriod - 1) / 2);
    unsigned long long read = 0;
    float milliseconds = 0;
    RETURN_IF_CUDA_ERROR(cudaMemsetAsync(sum, 0, sizeof(*sum)));
    RETURN_IF_CUDA_ERROR(cudaEventRecord(start));
    ReadKernel<<<blocks, kThreadsPerBlock>>>(words, load_count, sum);
    RETURN_IF_ERROR(FromCuda(cudaGetLastError(), "ReadKernel"));
    RETURN_IF_CUDA_ERROR(cudaEventRecord(stop));
    RETURN_IF_CUDA_ERROR(
        cudaMemcpy(&read, sum, sizeof(read), cudaMemcpyDeviceToHost));
    RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start, stop));
    if (read != expected) {
      return absl::DataLossError(
          absl::StrCat("a pass over device memory summed to ", read,
                       " instead of ", expected));
    }
    return milliseconds;
  }

  int64_t bytes = 0;
  int64_t load_count = 0;
  int blocks = 0;
  uint4* words = nullptr;
  unsigned long long* sum = nullptr;
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
};

}  // namespace

absl::StatusOr<std::vector<DeviceRecord>> ReadDevices() {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count);
      error != cudaSuccess) {
    return absl::FailedPreconditionError(
        absl::StrCat(cudaGetErrorString(error), ": no device to describe"));
  }
  std::vector<DeviceRecord> records;
  for (int device = 0; device < count; ++device) {
    ASSIGN_OR_RETURN(DeviceRecord record, ReadDevice(device));
    records.push_back(std::move(record));
  }
  return records;
}

absl::StatusOr<ReadBandwidth> MeasureReadBandwidth(int device_index) {
  RETURN_IF_CUDA_ERROR(cudaSetDevice(device_index));
  ASSIGN_OR_RETURN(const DeviceRecord record, ReadDevice(device_index));
  ReadStream stream;
  RETURN_IF_ERROR(stream.Prepare(record));
  RETURN_IF_ERROR(stream.Pass().status());  // Warms up.
  std::vector<float> milliseconds(kRepeats);
  for (float& pass : milliseconds) {
    ASSIGN_OR_RETURN(pass, stream.Pass());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  const double median = milliseconds[kRepeats / 2];
  const double quartiles =
      milliseconds[kRepeats * 3 / 4] - milliseconds[kRepeats / 4];
  return ReadBandwidth{.median_bytes_per_second =
                           static_cast<double>(stream.bytes) * 1e3 / median,
                       .relative_spread = quartiles / 2 / median,
                       .repeat_count = kRepeats,
                       .buffer_bytes = stream.bytes};
}

}  // namespace mansard::calibrate
