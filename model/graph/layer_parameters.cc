#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

// Up (and gate) and down of one feed-forward.
int64_t Matrices(int64_t width, bool gated, int64_t hidden) {
  return (gated ? 3 : 2) * width * hidden;
}

// What the matrices of one feed-forward add to their results.
int64_t Biases(int64_t width, bool gated, int64_t hidden) {
  return (gated ? 2 : 1) * width + hidden;
}

int64_t OneExpert(const MixtureOfExperts& f, int64_t hidden) {
  const int64_t width = f.latent_size == 0 ? hidden : f.latent_size;
  return Matrices(f.expert_intermediate_size, f.gated, width) +
         (f.expert_bias ? Biases(f.expert_intermediate_size, f.gated, width)
                        : 0);
}

struct CountFeedForward {
  int64_t hidden;

  ParameterCounts operator()(const NoFeedForward& /*f*/) const { return {}; }
  ParameterCounts operator()(const DenseFeedForward& f) const {
    ParameterCounts counts;
    counts[TensorClass::kFeedForward] =
        Matrices(f.intermediate_size, f.gated, hidden) +
        (f.bias ? Biases(f.intermediate_size, f.gated, hidden) : 0);
    return counts;
  }
  // Latent width (modeling_nemotron_h.py): one projection in, one out, around
  // all routed experts. Gate of the shared experts (modeling_qwen2_moe.py): one
  // output.
  ParameterCounts operator()(const MixtureOfExperts& f) const {
    ParameterCounts counts;
    counts[TensorClass::kRouter] = hidden * f.expert_count +
                                   (f.router_bias ? f.expert_count : 0) +
                                   2 * hidden * f.latent_size;
    counts[TensorClass::kExperts] = f.expert_count * OneExpert(f, hidden);
    counts[TensorClass::kSharedExperts] =
        Matrices(f.shared_intermediate_size, f.shared_gated, hidden) +
        (f.shared_expert_gate ? hidden : 0);
    return counts;
  }
};

int64_t ExpertNorms(const FeedForward& feed_forward, int64_t hidden,
                    bool norm_bias) {
  const auto* f = std::get_if<MixtureOfExperts>(&feed_forward);
  if (f == nullptr) return 0;
  return (f->latent_norm ? f->latent_size : 0) +
         (f->separate_norms ? 3 * hidden * (norm_bias ? 2 : 1) : 0);
}

// Norms of the hidden size in one layer.
int64_t OuterNorms(const LayerKind& kind) {
  const int64_t parts =
      (kind.has_mixer() ? 1 : 0) + (kind.has_feed_forward() ? 1 : 0);
  const int64_t before = kind.parallel && !kind.parallel_norms ? 1 : parts;
  switch (kind.norms) {
    case NormPlacement::kBefore:
      return before;
    case NormPlacement::kAfter:
      return parts;
    case NormPlacement::kBoth:
      return before + parts;
  }
  return 0;
}

// Manifold-constrained hyper-connections (DeepSeek-V4 report §2.2, its
// model.py): before each part, all n streams together give weights in and out
// (n each) and an n x n mixing matrix, each with a bias, and three scales.
int64_t StreamMixing(const LayerKind& kind, const ModelGraphSpec& spec) {
  const int64_t n = spec.residual_streams;
  if (n <= 1) return 0;
  const int64_t parts =
      (kind.has_mixer() ? 1 : 0) + (kind.has_feed_forward() ? 1 : 0);
  return parts * ((2 + n) * n * n * spec.hidden_size + (2 + n) * n + 3);
}

}  // namespace

ParameterCounts FeedForwardParameters(const FeedForward& feed_forward,
                                      int64_t hidden) {
  return std::visit(CountFeedForward{hidden}, feed_forward);
}

int64_t IdleParameters(const FeedForward& feed_forward, int64_t hidden) {
  const auto* f = std::get_if<MixtureOfExperts>(&feed_forward);
  if (f == nullptr) return 0;
  return (f->expert_count - f->experts_per_token) * OneExpert(*f, hidden);
}

int64_t NormParameters(const LayerKind& kind, int64_t hidden, bool norm_bias) {
  return OuterNorms(kind) * hidden * (norm_bias ? 2 : 1) +
         (kind.attention.has_value()
              ? AttentionNormParameters(*kind.attention, norm_bias)
              : 0) +
         (kind.recurrent.has_value() ? RecurrentNormParameters(*kind.recurrent)
                                     : 0) +
         ExpertNorms(kind.feed_forward, hidden, norm_bias);
}

ParameterCounts LayerParameters(const LayerKind& kind,
                                const ModelGraphSpec& spec) {
  const int64_t hidden = spec.hidden_size;
  ParameterCounts counts = FeedForwardParameters(kind.feed_forward, hidden);
  if (kind.attention.has_value()) {
    counts[TensorClass::kAttention] =
        AttentionParameters(*kind.attention, hidden);
  }
  if (kind.recurrent.has_value()) {
    counts[TensorClass::kRecurrent] =
        RecurrentParameters(*kind.recurrent, hidden);
  }
  counts[TensorClass::kNorm] = NormParameters(kind, hidden, spec.norm_bias);
  counts[TensorClass::kResidual] = StreamMixing(kind, spec);
  counts[TensorClass::kScale] = kind.extra_parameters;
  if (spec.layer_input_size != 0) {
    // Gate and projection, and their norm (modeling_gemma3n.py).
    counts[TensorClass::kLayerInput] = 2 * hidden * spec.layer_input_size;
    counts[TensorClass::kNorm] += hidden * (spec.norm_bias ? 2 : 1);
  }
  return counts;
}

}  // namespace mansard::model
