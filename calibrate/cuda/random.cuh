// Random data, from a seed and an index alone.
#pragma once

#include <cstdint>

#include "calibrate/cuda/warp.cuh"

namespace mansard::calibrate {

__device__ inline uint64_t RandomBits(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// About normal: mean 0, standard deviation 1, within 3.5.
__device__ inline float RandomNormal(uint64_t seed, uint64_t index) {
  const uint64_t bits = RandomBits(seed, index);
  const int sum =
      static_cast<int>(bits & 0xffff) + static_cast<int>(bits >> 16 & 0xffff) +
      static_cast<int>(bits >> 32 & 0xffff) + static_cast<int>(bits >> 48);
  constexpr float kDeviation = 37837.2f;  // Of the sum of four.
  return static_cast<float>(sum - 131070) / kDeviation;
}

// What is stored of a number, `kBits` of it.
struct StoreFp32 {
  static constexpr int kBits = 32;
  __device__ static Word Encode(float x) {
    return *reinterpret_cast<const Word*>(&x);
  }
};
struct StoreBf16 {
  static constexpr int kBits = 16;
  __device__ static Word Encode(float x) {
    const __nv_bfloat16 rounded = __float2bfloat16(x);
    return *reinterpret_cast<const uint16_t*>(&rounded);
  }
};
struct StoreFp16 {
  static constexpr int kBits = 16;
  __device__ static Word Encode(float x) {
    const __half rounded = __float2half_rn(x);
    return *reinterpret_cast<const uint16_t*>(&rounded);
  }
};
struct StoreE4m3 {
  static constexpr int kBits = 8;
  __device__ static Word Encode(float x) {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  }
};
// A deviation of 32 steps: what a scale to the largest magnitude leaves.
struct StoreInt8 {
  static constexpr int kBits = 8;
  __device__ static Word Encode(float x) {
    return static_cast<Word>(__float2int_rn(x * 32)) & 0xff;
  }
};
// Sign, two bits of exponent, one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6. Cut,
// not rounded.
struct StoreE2m1 {
  static constexpr int kBits = 4;
  __device__ static Word Encode(float x) {
    constexpr float kSteps[] = {0.5f, 1, 1.5f, 2, 3, 4, 6};
    const float size = fabsf(x) * 2;
    Word code = 0;
    for (const float step : kSteps) code += size >= step ? 1 : 0;
    return code | (x < 0 ? 8 : 0);
  }
};

// `words` of 32 bits full of normally distributed numbers.
template <class Store>
__global__ void FillKernel(Word* to, int64_t words, uint64_t seed) {
  constexpr int kPerWord = 32 / Store::kBits;
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += stride) {
    Word word = 0;
#pragma unroll
    for (int j = 0; j < kPerWord; ++j) {
      const float x =
          RandomNormal(seed, static_cast<uint64_t>(i) * kPerWord + j);
      word |= Store::Encode(x) << (j * Store::kBits);
    }
    to[i] = word;
  }
}

}  // namespace mansard::calibrate
