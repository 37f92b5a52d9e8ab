// Launches of the kernels of our own, on a stream; what comes back is what CUDA
// says of the launch. Pointers are of device memory, 16 bytes aligned; what the
// kernels do is said beside them in *_kernels.cuh.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace mansard::calibrate::device_code {

enum class Number { kFp32, kTf32, kBf16, kFp16, kE4m3, kInt8, kE2m1 };

// Where kernels run: a stream of a device with so many multiprocessors.
struct Place {
  cudaStream_t stream = nullptr;
  int multiprocessors = 1;
};

// A whole number of 32-bit words.
cudaError_t FillRandom(const Place& place, Number number, void* to,
                       int64_t bytes, uint64_t seed);

cudaError_t Copy(const Place& place, const void* from, void* to, int64_t bytes);
cudaError_t Triad(const Place& place, const float* a, const float* b,
                  float scale, float* to, int64_t bytes);
// `loads`: 1, 2, 4, 8 or 16; 0 blocks: as many as fill the device.
cudaError_t Read(const Place& place, const void* from, int64_t bytes,
                 int64_t blocks, int64_t loads, uint32_t* sum);
// Blocks of the next two kernels.
int CacheReadBlocks(int multiprocessors);
cudaError_t CacheRead(const Place& place, const void* from, int64_t bytes,
                      int passes, uint32_t* sum);
cudaError_t SharedRead(const Place& place, int steps, uint32_t* sum);
cudaError_t Chase(const Place& place, const uint32_t* list, int steps,
                  uint32_t* at);
cudaError_t Empty(const Place& place);

// Threads of the next three kernels.
int PeakThreads(int multiprocessors);
// fp32, fp16, bf16.
cudaError_t MultiplyAdd(const Place& place, Number number, int steps,
                        float* to);
// All but fp32.
cudaError_t TensorMultiplyAdd(const Place& place, Number number, int steps,
                              bool random, float* to);
cudaError_t Exponential(const Place& place, int steps, float* to);

// `columns` are multiples of 8.
cudaError_t Norm(const Place& place, const void* from, const void* weights,
                 void* to, int64_t rows, int64_t columns);
cudaError_t Activation(const Place& place, const void* gate_up, void* to,
                       int64_t rows, int64_t columns);
cudaError_t Residual(const Place& place, const void* a, const void* b, void* to,
                     int64_t count);
cudaError_t Quantize(const Place& place, const void* from, void* to,
                     float* scales, int64_t rows, int64_t columns);

struct Attention {
  int64_t requests = 0;
  int64_t tokens = 0;  // Of the context; of prompts, of the queries too.
  int query_heads = 0;
  int kv_heads = 0;
  int head_size = 0;  // 64 or 128; otherwise cudaErrorInvalidValue.
};
cudaError_t Prefill(const Place& place, const Attention& shape,
                    const void* queries, const void* keys, const void* values,
                    void* outputs);
// `parts` of the cache, and room for requests * query_heads * parts *
// (head_size + 2) floats where there are more than one. Up to 16 query heads of
// a KV head.
cudaError_t Decode(const Place& place, const Attention& shape, int64_t parts,
                   const void* queries, const void* keys, const void* values,
                   void* outputs, float* room);

// Waits on the device until flags[0] is not 0; after `nanoseconds` it sets
// flags[1] and goes on. flags: page-locked memory of the host.
cudaError_t Hold(const Place& place, volatile int* flags, uint64_t nanoseconds);
// Nanoseconds and clocks of multiprocessor i, in stamps[2 i] and stamps[2 i +
// 1]. Which ones are told is up to the device.
cudaError_t Stamp(const Place& place, uint64_t* stamps, int count);

}  // namespace mansard::calibrate::device_code
