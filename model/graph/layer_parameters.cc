#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

// Up (and gate) and down of one feed-forward.
int64_t Matrices(int64_t width, bool gated, int64_t hidden) {
  return (gated ? 3 : 2) * width * hidden;
}

struct CountAttention {
  int64_t hidden;

  int64_t operator()(const GroupedQueryAttention& a) const {
    const int64_t query = int64_t{a.query_heads} * a.head_size;
    const int64_t kv = int64_t{a.kv_heads} * a.head_size;
    return hidden * (query + 2 * kv) + query * hidden +
           (a.qkv_bias ? query + 2 * kv : 0) + (a.output_bias ? hidden : 0);
  }
  int64_t operator()(const LatentAttention& a) const {
    const int64_t heads = a.query_heads;
    const int64_t query = heads * a.key_head_size();
    const int64_t queries =
        a.query_lora_rank == 0
            ? hidden * query
            : hidden * a.query_lora_rank + a.query_lora_rank * query;
    const int64_t latent = hidden * (a.kv_lora_rank + a.rope_head_size);
    const int64_t expand =
        a.kv_lora_rank * heads * (a.nope_head_size + a.value_head_size);
    return queries + latent + expand + heads * a.value_head_size * hidden;
  }
};

struct CountFeedForward {
  int64_t hidden;

  int64_t operator()(const DenseFeedForward& f) const {
    const int64_t up = f.intermediate_size * (f.gated ? 2 : 1);
    return Matrices(f.intermediate_size, f.gated, hidden) +
           (f.bias ? up + hidden : 0);
  }
  int64_t operator()(const MixtureOfExperts& f) const {
    return hidden * f.expert_count +
           f.expert_count *
               Matrices(f.expert_intermediate_size, f.gated, hidden) +
           Matrices(f.shared_intermediate_size, f.gated, hidden);
  }
};

struct CountIdle {
  int64_t hidden;

  int64_t operator()(const DenseFeedForward& /*f*/) const { return 0; }
  int64_t operator()(const MixtureOfExperts& f) const {
    return (f.expert_count - f.experts_per_token) *
           Matrices(f.expert_intermediate_size, f.gated, hidden);
  }
};

struct CountHeadNorms {
  int64_t operator()(const GroupedQueryAttention& a) const {
    return a.qk_norm ? 2 * a.head_size : 0;
  }
  int64_t operator()(const LatentAttention& a) const {
    return a.query_lora_rank + a.kv_lora_rank;
  }
};

}  // namespace

int64_t AttentionParameters(const Attention& attention, int64_t hidden) {
  return std::visit(CountAttention{hidden}, attention);
}

int64_t FeedForwardParameters(const FeedForward& feed_forward, int64_t hidden) {
  return std::visit(CountFeedForward{hidden}, feed_forward);
}

int64_t IdleParameters(const FeedForward& feed_forward, int64_t hidden) {
  return std::visit(CountIdle{hidden}, feed_forward);
}

int64_t NormParameters(const LayerKind& kind, int64_t hidden) {
  return (kind.parallel ? 1 : 2) * hidden +
         std::visit(CountHeadNorms{}, kind.attention);
}

}  // namespace mansard::model
