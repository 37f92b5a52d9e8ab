// What a transformer layer does, on one thread of the host in fp32: the same
// functions are calibrated and run.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "calibrate/cpu/loops.h"
#include "calibrate/cpu/openblas.h"

namespace mansard::calibrate {

struct AttentionSizes {
  int64_t requests = 1;
  int64_t context_tokens = 0;  // Of each request, with the new one.
  int64_t query_heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;

  // Of keys or values of all requests.
  int64_t cache_elements() const {
    return requests * context_tokens * kv_heads * head_size;
  }
  // A row of queries, keys and values, as one product makes it.
  int64_t qkv_width() const { return (query_heads + 2 * kv_heads) * head_size; }
  int64_t output_width() const { return query_heads * head_size; }
};

class CpuOps {
 public:
  CpuOps(const Loops& loops, OpenBlas blas)
      : loops_(loops), blas_(std::move(blas)) {}

  const Loops& loops() const { return loops_; }
  const OpenBlas& blas() const { return blas_; }

  // y[m, n] = x[m, k] x weights[n, k]^T, wide ones in parts.
  void Gemm(const float* x, const float* weights, float* y, int64_t m,
            int64_t n, int64_t k) const;
  void Norm(const float* x, const float* weight, float* y, int64_t rows,
            int64_t columns) const;
  // A row holds `columns` of the gate, then as many of the up-projection.
  void Activation(const float* gate_up, float* y, int64_t rows,
                  int64_t columns) const;
  // Keys and values of a request and head one position after the other; the
  // new token's, from its row of qkv, are written to the last position.
  void DecodeAttention(const AttentionSizes& sizes, const float* qkv,
                       float* keys, float* values, float* output);
  // Causal, from rows of qkv, request after request.
  void PrefillAttention(const AttentionSizes& sizes, const float* qkv,
                        float* output);

 private:
  const Loops& loops_;
  OpenBlas blas_;
  std::vector<float> scores_;
};

}  // namespace mansard::calibrate
