// What of cuBLASLt's interface is used, so that no header of it is needed;
// cublas_lt_test.cc holds it against the header where there is one. Internal to
// cublas_lt.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mansard::calibrate::cublas_lt {

using Status = int;
using Handle = void*;  // And the descriptors.
inline constexpr Status kSuccess = 0;

// cudaDataType_t.
inline constexpr int kFp32 = 0;
inline constexpr int kFp16 = 2;
inline constexpr int kInt8 = 3;
inline constexpr int kInt32 = 10;
inline constexpr int kBf16 = 14;
inline constexpr int kE4m3 = 28;
inline constexpr int kE2m1 = 33;
// cublasComputeType_t.
inline constexpr int kComputeFp32 = 68;
inline constexpr int kComputeInt32 = 72;
// cublasOperation_t.
inline constexpr int32_t kTransposed = 1;
// cublasLtMatmulDescAttributes_t.
inline constexpr int kDescTransposeA = 3;
inline constexpr int kDescScaleA = 17;
inline constexpr int kDescScaleB = 18;
inline constexpr int kDescScaleModeA = 31;
inline constexpr int kDescScaleModeB = 32;
// cublasLtMatmulMatrixScale_t.
inline constexpr int32_t kScaleBlocksOf16 = 1;
// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int kPreferenceWorkspace = 1;

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

}  // namespace mansard::calibrate::cublas_lt
