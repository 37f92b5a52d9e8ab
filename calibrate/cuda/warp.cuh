// What device code asks of the hardware below CUDA C++: matrix instructions,
// copies into shared memory, cached and streaming loads. Outside nvcc
// simt_emulator.cuh has the same functions, so that tests run kernels on the
// host.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace mansard::calibrate {

// Sixteen-bit numbers of a pair; an 8-bit quadruple.
using Word = uint32_t;

}  // namespace mansard::calibrate

#ifdef __CUDACC__

namespace mansard::calibrate {

__device__ inline uint4* DynamicShared() {
  extern __shared__ uint4 dynamic_shared[];
  return dynamic_shared;
}

// 16 bytes from global to shared memory; zeros where not `valid`.
__device__ inline void CopyAsync(void* to, const void* from, bool valid) {
  const uint32_t shared = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared),
               "l"(from), "r"(bytes)
               : "memory");
}
__device__ inline void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// All but the newest `kPending` groups are there.
template <int kPending>
__device__ inline void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8 x 8 matrices of 16-bit numbers; lanes 8 i to 8 i + 7 give the rows of
// the i-th. Each lane has two neighbours of row lane / 4, of their transpose
// with kTransposed.
template <bool kTransposed>
__device__ inline void LoadMatrices(const void* row, Word (&loaded)[4]) {
  const uint32_t shared = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]), "=r"(loaded[3])
        : "r"(shared)
        : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(loaded[0]), "=r"(loaded[1]), "=r"(loaded[2]),
                   "=r"(loaded[3])
                 : "r"(shared)
                 : "memory");
  }
}

// sum += a b of 16 x 16 by 16 x 8 numbers in bf16.
__device__ inline void MultiplyBf16(const Word (&a)[4], Word b0, Word b1,
                                    float (&sum)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
      "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline float Exp2(float x) {
  float y;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace mansard::calibrate

#else
#include "calibrate/cuda/simt_emulator.cuh"
#endif
