#include "calibrate/refresh/cpu_layer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace mansard::calibrate {
namespace {

enum LayerStep : size_t {
  kAttentionNorm,
  kQkvProj,
  kAttention,
  kOutputProj,
  kAttentionResidual,
  kFeedForwardNorm,
  kUpProj,
  kActivation,
  kDownProj,
  kFeedForwardResidual,
  kStepCount,
};

AttentionSizes AttentionOf(const LayerShape& shape, const LayerPass& pass) {
  return {pass.requests, pass.context_tokens, shape.query_heads, shape.kv_heads,
          shape.head_size};
}

std::vector<float> Zeros(int64_t count) {
  return std::vector<float>(static_cast<size_t>(count));
}

}  // namespace

std::vector<LayerOp> LayerOps(const LayerShape& shape, const LayerPass& pass) {
  const int64_t rows = pass.rows();
  const AttentionSizes sizes = AttentionOf(shape, pass);
  const auto gemm = [rows](int64_t n, int64_t k) {
    return Case{.kind = CaseKind::kGemm, .m = rows, .n = n, .k = k};
  };
  const auto elementwise = [rows](CaseKind kind, int64_t columns) {
    return Case{.kind = kind, .rows = rows, .columns = columns};
  };
  const Case attention{.kind = pass.prefill ? CaseKind::kPrefillAttention
                                            : CaseKind::kDecodeAttention,
                       .requests = pass.requests,
                       .context_tokens = pass.context_tokens,
                       .query_heads = shape.query_heads,
                       .kv_heads = shape.kv_heads,
                       .head_size = shape.head_size};
  return {
      {"attention_norm", elementwise(CaseKind::kNorm, shape.hidden)},
      {"qkv_proj", gemm(sizes.qkv_width(), shape.hidden)},
      {"attention", attention},
      {"output_proj", gemm(shape.hidden, sizes.output_width())},
      {"attention_residual", elementwise(CaseKind::kResidual, shape.hidden)},
      {"feed_forward_norm", elementwise(CaseKind::kNorm, shape.hidden)},
      {"up_proj", gemm(2 * shape.feed_forward, shape.hidden)},
      {"activation", elementwise(CaseKind::kActivation, shape.feed_forward)},
      {"down_proj", gemm(shape.hidden, shape.feed_forward)},
      {"feed_forward_residual", elementwise(CaseKind::kResidual, shape.hidden)},
  };
}

CpuLayer::CpuLayer(const LayerShape& shape, const LayerPass& pass, CpuOps& ops,
                   ColdPool& pool)
    : shape_(shape),
      pass_(pass),
      rows_(pass.rows()),
      attention_(AttentionOf(shape, pass)),
      ops_(ops),
      pool_(pool),
      norm_weight_(static_cast<size_t>(shape.hidden), 1.0f),
      residual_(Zeros(rows_ * shape.hidden)),
      normed_(residual_),
      qkv_(Zeros(rows_ * attention_.qkv_width())),
      attended_(Zeros(rows_ * attention_.output_width())),
      projected_(residual_),
      gate_up_(Zeros(rows_ * 2 * shape.feed_forward)),
      activated_(Zeros(rows_ * shape.feed_forward)) {}

void CpuLayer::Gemm(const std::vector<float>& x, int64_t columns, int64_t depth,
                    std::vector<float>& y) {
  const float* const weights = pool_.Take(static_cast<size_t>(columns * depth));
  ops_.Gemm(x.data(), weights, y.data(), rows_, columns, depth);
}

void CpuLayer::RunOp(size_t index) {
  const auto norm = [&] {
    ops_.Norm(residual_.data(), norm_weight_.data(), normed_.data(), rows_,
              shape_.hidden);
  };
  const auto add = [&] {
    ops_.loops().add(residual_.data(), projected_.data(), residual_.data(),
                     residual_.size());
  };
  switch (static_cast<LayerStep>(index)) {
    case kAttentionNorm:
    case kFeedForwardNorm:
      return norm();
    case kQkvProj:
      return Gemm(normed_, attention_.qkv_width(), shape_.hidden, qkv_);
    case kAttention:
      if (pass_.prefill) {
        ops_.PrefillAttention(attention_, qkv_.data(), attended_.data());
      } else {
        const size_t cache = static_cast<size_t>(attention_.cache_elements());
        float* const keys = pool_.Take(2 * cache);
        ops_.DecodeAttention(attention_, qkv_.data(), keys, keys + cache,
                             attended_.data());
      }
      return;
    case kOutputProj:
      return Gemm(attended_, shape_.hidden, attention_.output_width(),
                  projected_);
    case kAttentionResidual:
    case kFeedForwardResidual:
      return add();
    case kUpProj:
      return Gemm(normed_, 2 * shape_.feed_forward, shape_.hidden, gate_up_);
    case kActivation:
      return ops_.Activation(gate_up_.data(), activated_.data(), rows_,
                             shape_.feed_forward);
    case kDownProj:
      return Gemm(activated_, shape_.hidden, shape_.feed_forward, projected_);
    case kStepCount:
      return;
  }
}

std::vector<double> CpuLayer::Run() {
  // Random weights without a scale would grow it beyond all bounds.
  float value = 0.1f;
  for (float& element : residual_) {
    value = value > 0.9f ? -0.95f : value + 0.0371f;
    element = value;
  }
  std::vector<double> seconds;
  auto last = std::chrono::steady_clock::now();
  for (size_t step = 0; step < kStepCount; ++step) {
    RunOp(step);
    const auto now = std::chrono::steady_clock::now();
    seconds.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  }
  return seconds;
}

double CpuLayer::OutputMagnitude() const {
  double sum = 0;
  for (const float value : residual_) sum += std::abs(value);
  return sum / static_cast<double>(residual_.size());
}

}  // namespace mansard::calibrate
