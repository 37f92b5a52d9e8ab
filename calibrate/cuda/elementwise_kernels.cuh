// Norm, activation, residual and quantisation in bf16, eight numbers at a time.
#pragma once

#include <cstdint>

#include "calibrate/cuda/warp.cuh"

namespace mansard::calibrate {

inline constexpr int kRowThreads = 256;
inline constexpr float kNormEpsilon = 1e-6f;
inline constexpr float kLargestE4m3 = 448;

struct Eight {
  float values[8];
};

__device__ inline Eight Unpack(const uint4& packed) {
  const Word words[4] = {packed.x, packed.y, packed.z, packed.w};
  Eight eight;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair =
        __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&words[i]));
    eight.values[2 * i] = pair.x;
    eight.values[2 * i + 1] = pair.y;
  }
  return eight;
}

__device__ inline uint4 Pack(const Eight& eight) {
  Word words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 pair =
        __floats2bfloat162_rn(eight.values[2 * i], eight.values[2 * i + 1]);
    words[i] = *reinterpret_cast<const Word*>(&pair);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline float Add(float a, float b) { return a + b; }
__device__ inline float Larger(float a, float b) { return fmaxf(a, b); }

// Over all threads of a block of kRowThreads; each has the result.
template <float (*kJoin)(float, float)>
__device__ inline float OverBlock(float value) {
  __shared__ float warps[kRowThreads / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    value = kJoin(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
#pragma unroll
  for (int warp = 1; warp < kRowThreads / 32; ++warp) {
    value = kJoin(value, warps[warp]);
  }
  return value;
}

// RMS norm; a block a row. `columns`: in eights.
__global__ void __launch_bounds__(kRowThreads)
    NormKernel(const uint4* from, const uint4* weights, uint4* to,
               int64_t columns) {
  from += int64_t{blockIdx.x} * columns;
  to += int64_t{blockIdx.x} * columns;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < columns; i += kRowThreads) {
    const Eight x = Unpack(from[i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) squares += x.values[j] * x.values[j];
  }
  const float mean = OverBlock<Add>(squares) / static_cast<float>(8 * columns);
  const float scale = rsqrtf(mean + kNormEpsilon);
  for (int64_t i = threadIdx.x; i < columns; i += kRowThreads) {
    Eight x = Unpack(from[i]);
    const Eight weight = Unpack(weights[i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) x.values[j] *= scale * weight.values[j];
    to[i] = Pack(x);
  }
}

// silu(gate) * up; a row of gate_up holds `columns` eights of each.
__global__ void ActivationKernel(const uint4* gate_up, uint4* to, int64_t rows,
                                 int64_t columns) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
       i < rows * columns; i += stride) {
    const int64_t gate_at = i / columns * 2 * columns + i % columns;
    const Eight gate = Unpack(gate_up[gate_at]);
    Eight up = Unpack(gate_up[gate_at + columns]);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      up.values[j] *= gate.values[j] / (1 + expf(-gate.values[j]));
    }
    to[i] = Pack(up);
  }
}

// to = a + b; `count`: in eights.
__global__ void ResidualKernel(const uint4* a, const uint4* b, uint4* to,
                               int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    Eight sum = Unpack(a[i]);
    const Eight other = Unpack(b[i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) sum.values[j] += other.values[j];
    to[i] = Pack(sum);
  }
}

// To e4m3, with a scale for each row that takes its largest magnitude to 448;
// a block a row. `columns`: in eights.
__global__ void __launch_bounds__(kRowThreads)
    QuantizeKernel(const uint4* from, uint2* to, float* scales,
                   int64_t columns) {
  from += int64_t{blockIdx.x} * columns;
  to += int64_t{blockIdx.x} * columns;
  float largest = 0;
  for (int64_t i = threadIdx.x; i < columns; i += kRowThreads) {
    const Eight x = Unpack(from[i]);
#pragma unroll
    for (int j = 0; j < 8; ++j) largest = fmaxf(largest, fabsf(x.values[j]));
  }
  largest = fmaxf(OverBlock<Larger>(largest), 1e-12f);
  const float inverse = kLargestE4m3 / largest;
  if (threadIdx.x == 0) scales[blockIdx.x] = largest / kLargestE4m3;
  for (int64_t i = threadIdx.x; i < columns; i += kRowThreads) {
    const Eight x = Unpack(from[i]);
    Word words[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const Word code = __nv_cvt_float_to_fp8(x.values[j] * inverse,
                                              __NV_SATFINITE, __NV_E4M3);
      words[j / 4] |= code << (j % 4 * 8);
    }
    to[i] = make_uint2(words[0], words[1]);
  }
}

}  // namespace mansard::calibrate
