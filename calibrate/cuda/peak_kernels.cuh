// What the arithmetic units issue, all operands in registers.
#pragma once

#include <cstdint>

#include "calibrate/cuda/warp.cuh"

namespace mansard::calibrate {

inline constexpr int kPeakThreads = 256;
inline constexpr int kPeakChains = 8;
inline constexpr int kExponentialChains = 4;
inline constexpr float kChainFactor = -0.75f;
inline constexpr float kChainTerm = 1.25f;

__device__ inline float FirstOfChain(int chain) {
  return 1 + 0.125f * static_cast<float>(chain);
}

struct PeakFp32 {
  using Value = float;
  __device__ static Value Make(float x) { return x; }
  __device__ static Value MultiplyAdd(Value a, Value b, Value c) {
    return fmaf(a, b, c);
  }
  __device__ static float First(Value x) { return x; }
};
struct PeakFp16 {
  using Value = __half2;
  __device__ static Value Make(float x) { return __float2half2_rn(x); }
  __device__ static Value MultiplyAdd(Value a, Value b, Value c) {
    return __hfma2(a, b, c);
  }
  __device__ static float First(Value x) { return __low2float(x); }
};
struct PeakBf16 {
  using Value = __nv_bfloat162;
  __device__ static Value Make(float x) { return __float2bfloat162_rn(x); }
  __device__ static Value MultiplyAdd(Value a, Value b, Value c) {
    return __hfma2(a, b, c);
  }
  __device__ static float First(Value x) { return __low2float(x); }
};

// kPeakChains chains x = x * factor + term a thread, of as many numbers as the
// format packs; each thread's sum over the chains goes to its place in `to`.
template <class Format>
__global__ void __launch_bounds__(kPeakThreads)
    MultiplyAddKernel(int steps, float factor, float term, float* to) {
  typename Format::Value chains[kPeakChains];
#pragma unroll
  for (int i = 0; i < kPeakChains; ++i) {
    chains[i] = Format::Make(FirstOfChain(i));
  }
  const typename Format::Value by = Format::Make(factor);
  const typename Format::Value plus = Format::Make(term);
#pragma unroll 8
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < kPeakChains; ++i) {
      chains[i] = Format::MultiplyAdd(chains[i], by, plus);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPeakChains; ++i) sum += Format::First(chains[i]);
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// kExponentialChains chains x = 2^-x, which all end where x = 2^-x.
__global__ void __launch_bounds__(kPeakThreads)
    ExponentialKernel(int steps, float* to) {
  float chains[kExponentialChains];
#pragma unroll
  for (int i = 0; i < kExponentialChains; ++i) chains[i] = FirstOfChain(i);
#pragma unroll 8
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < kExponentialChains; ++i) chains[i] = Exp2(-chains[i]);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kExponentialChains; ++i) sum += chains[i];
  to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Formats of the tensor units: the instruction, 1 in every place of a register,
// and the bits that may be random so that numbers stay small.
struct TensorBf16 {
  static constexpr Word kOnes = 0x3f803f80;
  static constexpr Word kRandom = 0x807f807f;
};
struct TensorFp16 {
  static constexpr Word kOnes = 0x3c003c00;
  static constexpr Word kRandom = 0x83ff83ff;
};
struct TensorTf32 {
  static constexpr Word kOnes = 0x3f800000;
  static constexpr Word kRandom = 0x807fffff;
};
struct TensorInt8 {
  static constexpr Word kOnes = 0x01010101;
  static constexpr Word kRandom = 0xfefefefe;
};
struct TensorE4m3 {
  static constexpr Word kOnes = 0x38383838;
  static constexpr Word kRandom = 0x87878787;
};

#ifdef __CUDACC__
// sum += a b of 16 rows and 8 columns.
#define MANSARD_MULTIPLY(FORMAT, SHAPE, TYPES, NUMBER, CONSTRAINT)             \
  __device__ inline void Multiply(FORMAT, const Word(&a)[4], Word b0, Word b1, \
                                  NUMBER(&sum)[4]) {                           \
    asm volatile("mma.sync.aligned." SHAPE ".row.col." TYPES                   \
                 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"      \
                 : "+" CONSTRAINT(sum[0]), "+" CONSTRAINT(sum[1]),             \
                   "+" CONSTRAINT(sum[2]), "+" CONSTRAINT(sum[3])              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0),        \
                   "r"(b1));                                                   \
  }
MANSARD_MULTIPLY(TensorBf16, "m16n8k16", "f32.bf16.bf16.f32", float, "f")
MANSARD_MULTIPLY(TensorFp16, "m16n8k16", "f32.f16.f16.f32", float, "f")
MANSARD_MULTIPLY(TensorTf32, "m16n8k8", "f32.tf32.tf32.f32", float, "f")
MANSARD_MULTIPLY(TensorInt8, "m16n8k32", "s32.s8.s8.s32", int, "r")
// Before compute capability 8.9 there is no such unit, and the case is not run.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
MANSARD_MULTIPLY(TensorE4m3, "m16n8k32", "f32.e4m3.e4m3.f32", float, "f")
#else
__device__ inline void Multiply(TensorE4m3, const Word (&)[4], Word, Word,
                                float (&)[4]) {}
#endif
#undef MANSARD_MULTIPLY

// kPeakChains products of their own a warp; each thread's sum goes to its place
// in `to`. `random`: operands of random bits, else of ones.
template <class Format, class Number>
__global__ void __launch_bounds__(kPeakThreads)
    TensorKernel(int steps, bool random, float* to) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  Word operands[6];
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    const Word bits = static_cast<Word>(at * 6 + i) * 0x9e3779b9u;
    operands[i] =
        Format::kOnes | (random ? (bits ^ bits >> 15) & Format::kRandom : 0);
  }
  const Word a[4] = {operands[0], operands[1], operands[2], operands[3]};
  Number sums[kPeakChains][4];
#pragma unroll
  for (int i = 0; i < kPeakChains; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = 0;
  }
#pragma unroll 4
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int i = 0; i < kPeakChains; ++i) {
      Multiply(Format(), a, operands[4], operands[5], sums[i]);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kPeakChains; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += static_cast<float>(sums[i][j]);
  }
  to[at] = sum;
}
#endif

}  // namespace mansard::calibrate
