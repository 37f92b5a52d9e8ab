#include "calibrate/cpu/cpu_ops.h"

#include <algorithm>
#include <cmath>

namespace mansard::calibrate {
namespace {

// OpenBLAS reads some hundred columns of all rows of the weights, then the
// next: of 9000 rows and more what was read ahead is gone by then, and the
// memory gives 15 % less.
constexpr int64_t kMostColumns = 4096;

float ScoreScale(int64_t head_size) {
  return 1 / std::sqrt(static_cast<float>(head_size));
}

}  // namespace

void CpuOps::Gemm(const float* x, const float* weights, float* y, int64_t m,
                  int64_t n, int64_t k) const {
  for (int64_t first = 0; first < n; first += kMostColumns) {
    blas_.Multiply(m, std::min(kMostColumns, n - first), k, {x, k},
                   {weights + first * k, k}, true, y + first, n);
  }
}

void CpuOps::Norm(const float* x, const float* weight, float* y, int64_t rows,
                  int64_t columns) const {
  for (int64_t row = 0; row < rows; ++row) {
    loops_.norm(x + row * columns, weight, y + row * columns,
                static_cast<size_t>(columns));
  }
}

void CpuOps::Activation(const float* gate_up, float* y, int64_t rows,
                        int64_t columns) const {
  for (int64_t row = 0; row < rows; ++row) {
    const float* const gate = gate_up + row * 2 * columns;
    loops_.activation(gate, gate + columns, y + row * columns,
                      static_cast<size_t>(columns));
  }
}

void CpuOps::DecodeAttention(const AttentionSizes& sizes, const float* qkv,
                             float* keys, float* values, float* output) {
  const int64_t width = sizes.head_size;
  const int64_t group = sizes.query_heads / sizes.kv_heads;
  const int64_t plane = sizes.context_tokens * width;
  const size_t count = static_cast<size_t>(sizes.context_tokens);
  const size_t head = static_cast<size_t>(width);
  scores_.resize(count);
  for (int64_t request = 0; request < sizes.requests; ++request) {
    const float* const row = qkv + request * sizes.qkv_width();
    const float* const new_keys = row + sizes.query_heads * width;
    const float* const new_values = new_keys + sizes.kv_heads * width;
    for (int64_t kv = 0; kv < sizes.kv_heads; ++kv) {
      float* const own_keys = keys + (request * sizes.kv_heads + kv) * plane;
      float* const own_values =
          values + (request * sizes.kv_heads + kv) * plane;
      std::copy_n(new_keys + kv * width, width, own_keys + plane - width);
      std::copy_n(new_values + kv * width, width, own_values + plane - width);
      for (int64_t q = kv * group; q < (kv + 1) * group; ++q) {
        loops_.scores(row + q * width, own_keys, head, count, scores_.data());
        loops_.softmax(scores_.data(), ScoreScale(width), count);
        loops_.weighted_sum(
            scores_.data(), own_values, head, count,
            output + request * sizes.output_width() + q * width);
      }
    }
  }
}

void CpuOps::PrefillAttention(const AttentionSizes& sizes, const float* qkv,
                              float* output) {
  const int64_t tokens = sizes.context_tokens;
  const int64_t width = sizes.head_size;
  const int64_t stride = sizes.qkv_width();
  const int64_t group = sizes.query_heads / sizes.kv_heads;
  scores_.resize(static_cast<size_t>(tokens * tokens));
  for (int64_t request = 0; request < sizes.requests; ++request) {
    const float* const rows = qkv + request * tokens * stride;
    for (int64_t q = 0; q < sizes.query_heads; ++q) {
      const float* const keys = rows + (sizes.query_heads + q / group) * width;
      const float* const values = keys + sizes.kv_heads * width;
      blas_.Multiply(tokens, tokens, width, {rows + q * width, stride},
                     {keys, stride}, true, scores_.data(), tokens);
      for (int64_t i = 0; i < tokens; ++i) {
        float* const row = scores_.data() + i * tokens;
        loops_.softmax(row, ScoreScale(width), static_cast<size_t>(i + 1));
        std::fill(row + i + 1, row + tokens, 0.0f);
      }
      blas_.Multiply(
          tokens, width, tokens, {scores_.data(), tokens}, {values, stride},
          false, output + request * tokens * sizes.output_width() + q * width,
          sizes.output_width());
    }
  }
}

}  // namespace mansard::calibrate
