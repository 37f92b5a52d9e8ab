// OpenBLAS, loaded when it is needed: the program starts without it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace mansard::calibrate {

// A row-major matrix; `stride` elements from one row to the next.
struct Matrix {
  const float* data = nullptr;
  int64_t stride = 0;
};

class OpenBlas {
 public:
  // Opens libopenblas.so.0 on one thread. A release that does not know the
  // processor falls back to kernels of 2004: where OPENBLAS_CORETYPE is not
  // set, it is set by the instruction set before the library is opened.
  // UNIMPLEMENTED: it is not installed, or lacks a function; says which.
  static absl::StatusOr<OpenBlas> Load();

  // out[m, n] = a[m, k] x b[n, k]^T, or x b[k, n] where not transposed.
  void Multiply(int64_t m, int64_t n, int64_t k, const Matrix& a,
                const Matrix& b, bool transposed, float* out,
                int64_t out_stride) const;

  // "OpenBLAS 0.3.21, SkylakeX kernels".
  const std::string& description() const { return description_; }

 private:
  using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m,
                         int n, int k, float alpha, const float* a, int lda,
                         const float* b, int ldb, float beta, float* c,
                         int ldc);
  Sgemm sgemm_ = nullptr;
  std::string description_;
};

}  // namespace mansard::calibrate
