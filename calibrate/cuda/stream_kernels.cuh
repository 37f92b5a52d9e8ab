// Streams through memory and L2, shared memory, and chains of dependent loads.
// Counts are of 16-byte words where nothing else is said.
#pragma once

#include <cstdint>

#include "calibrate/cuda/warp.cuh"

namespace mansard::calibrate {

inline constexpr int kStreamThreads = 512;
inline constexpr int kSharedWords = 2048;  // Of SharedReadKernel: 32 KiB.
// Of a list that is chased: a line of its own for each entry.
inline constexpr int kChaseStride = 32;  // In 32-bit words.

__device__ inline int64_t FirstIndex() {
  return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline int64_t GridStride() {
  return int64_t{gridDim.x} * blockDim.x;
}

__device__ inline Word SumOf(const uint4& word) {
  return word.x + word.y + word.z + word.w;
}

// Adds every lane's part to *sum, modulo 2^32.
__device__ inline void AddToSum(Word partial, Word* sum) {
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    partial += __shfl_down_sync(0xffffffffu, partial, lanes);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(sum, partial);
}

__global__ void CopyKernel(const uint4* from, uint4* to, int64_t count) {
  const int64_t stride = GridStride();
  int64_t i = FirstIndex();
  for (; i + 3 * stride < count; i += 4 * stride) {
    uint4 words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) words[j] = __ldcs(from + i + j * stride);
#pragma unroll
    for (int j = 0; j < 4; ++j) __stcs(to + i + j * stride, words[j]);
  }
  for (; i < count; i += stride) __stcs(to + i, __ldcs(from + i));
}

__device__ inline float4 Scaled(const float4& a, const float4& b, float scale) {
  return make_float4(a.x + scale * b.x, a.y + scale * b.y, a.z + scale * b.z,
                     a.w + scale * b.w);
}

// to = a + scale * b.
__global__ void TriadKernel(const float4* a, const float4* b, float scale,
                            float4* to, int64_t count) {
  const int64_t stride = GridStride();
  int64_t i = FirstIndex();
  for (; i + stride < count; i += 2 * stride) {
    const float4 a0 = __ldcs(a + i);
    const float4 a1 = __ldcs(a + i + stride);
    const float4 b0 = __ldcs(b + i);
    const float4 b1 = __ldcs(b + i + stride);
    __stcs(to + i, Scaled(a0, b0, scale));
    __stcs(to + i + stride, Scaled(a1, b1, scale));
  }
  for (; i < count; i += stride) {
    __stcs(to + i, Scaled(__ldcs(a + i), __ldcs(b + i), scale));
  }
}

// Adds all 32-bit words to *sum; every thread has kLoads loads in flight.
template <int kLoads>
__global__ void ReadKernel(const uint4* from, int64_t count, Word* sum) {
  const int64_t stride = GridStride();
  Word partial = 0;
  int64_t i = FirstIndex();
  for (; i + (kLoads - 1) * stride < count; i += kLoads * stride) {
    uint4 words[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j) words[j] = __ldcs(from + i + j * stride);
#pragma unroll
    for (int j = 0; j < kLoads; ++j) partial += SumOf(words[j]);
  }
  for (; i < count; i += stride) partial += SumOf(__ldcs(from + i));
  AddToSum(partial, sum);
}

// Every block reads all of it `passes` times, past L1, each from another place
// on. `count` is a multiple of the block's threads.
__global__ void CacheReadKernel(const uint4* from, int64_t count, int passes,
                                Word* sum) {
  Word partial = 0;
  const int64_t step = blockDim.x;
  const int64_t start = count / gridDim.x / step * step * blockIdx.x;
  for (int pass = 0; pass < passes; ++pass) {
    int64_t at = start;
#pragma unroll 8
    for (int64_t done = 0; done < count; done += step) {
      partial += SumOf(__ldcg(from + at + threadIdx.x));
      at += step;
      if (at >= count) at = 0;
    }
  }
  AddToSum(partial, sum);
}

// Word i of shared memory is {4 i, 4 i + 1, 4 i + 2, 4 i + 3}; thread t of
// kStreamThreads reads words t, t + kStreamThreads, ...: `steps` of them, round
// and round. `zero` is 0, which the compiler does not know.
__global__ void __launch_bounds__(kStreamThreads)
    SharedReadKernel(int steps, int zero, Word* sum) {
  __shared__ uint4 words[kSharedWords];
  for (int i = static_cast<int>(threadIdx.x); i < kSharedWords;
       i += kStreamThreads) {
    const Word first = static_cast<Word>(4 * i);
    words[i] = make_uint4(first, first + 1, first + 2, first + 3);
  }
  __syncthreads();
  uint4 partial = make_uint4(0, 0, 0, 0);
  int at = static_cast<int>(threadIdx.x);
#pragma unroll 8
  for (int step = 0; step < steps; ++step) {
    const uint4 word = words[at];
    partial.x += word.x;
    partial.y += word.y;
    partial.z += word.z;
    partial.w += word.w;
    at = (at + kStreamThreads + zero) & (kSharedWords - 1);
  }
  AddToSum(SumOf(partial), sum);
}

// Follows `list` from entry *at for `steps` loads, and leaves where it came to.
// One thread.
__global__ void ChaseKernel(const Word* list, int steps, Word* at) {
  Word entry = *at;
#pragma unroll 16
  for (int step = 0; step < steps; ++step) {
    entry = list[int64_t{entry} * kChaseStride];
  }
  *at = entry;
}

__global__ void EmptyKernel() {}

}  // namespace mansard::calibrate
