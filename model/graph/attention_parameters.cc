// Parameters of attention kinds and their norms.
#include "model/graph/layer_parameters.h"

namespace mansard::model {
namespace {

struct CountAttention {
  int64_t hidden;

  // Gate (Qwen3-Next, modeling_qwen3_next.py): the query projection makes as
  // much again. Sinks (modeling_gpt_oss.py): one logit a query head.
  int64_t operator()(const GroupedQueryAttention& a) const {
    const int64_t query = int64_t{a.query_heads} * a.head_size;
    const int64_t output = int64_t{a.query_heads} * a.value_size();
    const int64_t key = a.shared_kv ? 0 : int64_t{a.kv_heads} * a.head_size;
    const int64_t value = a.shared_kv || a.value_from_key
                              ? 0
                              : int64_t{a.kv_heads} * a.value_size();
    const int64_t in = query + (a.output_gate ? output : 0) + key + value;
    return hidden * in + output * hidden + (a.qkv_bias ? in : 0) +
           (a.output_bias ? hidden : 0) + (a.sinks ? a.query_heads : 0);
  }

  // arXiv 2405.04434 §2.1; which projections have a bias: attention_bias of
  // modeling_deepseek_v3.py.
  int64_t operator()(const LatentAttention& a) const {
    const int64_t heads = a.query_heads;
    const int64_t query = heads * a.key_head_size();
    const int64_t queries =
        a.query_lora_rank == 0
            ? hidden * query
            : hidden * a.query_lora_rank + a.query_lora_rank * query;
    const int64_t latent = a.kv_lora_rank + a.rope_head_size;
    const int64_t expand =
        a.kv_lora_rank * heads * (a.nope_head_size + a.value_head_size);
    const int64_t output = heads * a.value_head_size;
    return queries + hidden * latent + expand + output * hidden +
           (a.bias ? a.query_lora_rank + latent + hidden : 0) +
           (a.output_gate ? hidden * output : 0) + Indexer(a);
  }

  // DeepSeek-V3.2-Exp report §2.1 and its model.py: queries from the query
  // latent, one key and one weight a head from the layer's input.
  int64_t Indexer(const LatentAttention& a) const {
    if (!a.indexer.has_value()) return 0;
    const SparseIndexer& i = *a.indexer;
    if (i.heads == 0) return 0;
    return int64_t{a.query_lora_rank} * i.heads * i.head_size +
           hidden * i.head_size + hidden * i.heads;
  }

  // DeepSeek-V4 report §2.3 and its model.py: low-rank queries, one head that
  // is key and value, grouped low-rank output, a sink a query head.
  int64_t operator()(const CompressedAttention& a) const {
    const int64_t heads = int64_t{a.query_heads} * a.head_size;
    const int64_t low_rank = int64_t{a.output_groups} * a.output_lora_rank;
    const int64_t queries =
        hidden * a.query_lora_rank + a.query_lora_rank * heads;
    const int64_t output =
        heads / a.output_groups * low_rank + low_rank * hidden;
    int64_t count = queries + hidden * a.head_size + output + a.query_heads;
    if (a.ratio == 0) return count;
    count += Compressor(a, a.head_size);
    if (a.indexer.has_value() && a.indexer->heads != 0) {
      const int64_t width = int64_t{a.indexer->heads} * a.indexer->head_size;
      count += Compressor(a, a.indexer->head_size) + a.query_lora_rank * width +
               hidden * a.indexer->heads;
    }
    return count;
  }

  // Entries and their weights in the softmax, and a position embedding for the
  // positions of one entry.
  int64_t Compressor(const CompressedAttention& a, int64_t head_size) const {
    const int64_t width = (a.overlap ? 2 : 1) * head_size;
    return 2 * hidden * width + a.ratio * width;
  }

  // modeling_mllama.py: keys and values from states of the hidden size.
  int64_t operator()(const CrossAttention& a) const {
    const int64_t query = int64_t{a.query_heads} * a.head_size;
    const int64_t kv = int64_t{a.kv_heads} * a.head_size;
    return hidden * (query + 2 * kv) + query * hidden;
  }
};

// Norms of `heads` query and `kv_heads` key heads. A norm that all heads share
// has a bias where the model's norms have one (Phi, Persimmon); one over all
// heads never has (StableLM's LayerNorms, OLMo 2's RMSNorms).
int64_t HeadNorms(QkNorm norm, int heads, int kv_heads, int head_size,
                  bool norm_bias) {
  switch (norm) {
    case QkNorm::kNone:
    case QkNorm::kUnweighted:
      return 0;
    case QkNorm::kPerHead:
      return (kv_heads == 0 ? 1 : 2) * (norm_bias ? 2 : 1) * int64_t{head_size};
    case QkNorm::kAllHeads:
      return (int64_t{heads} + kv_heads) * head_size;
  }
  return 0;
}

struct CountAttentionNorms {
  bool norm_bias;

  int64_t operator()(const GroupedQueryAttention& a) const {
    return HeadNorms(a.qk_norm, a.query_heads, a.shared_kv ? 0 : a.kv_heads,
                     a.head_size, norm_bias);
  }
  // The indexer's key norm is a LayerNorm with a bias.
  int64_t operator()(const LatentAttention& a) const {
    const bool own_indexer = a.indexer.has_value() && a.indexer->heads != 0;
    return a.query_lora_rank + a.kv_lora_rank +
           (own_indexer ? int64_t{2} * a.indexer->head_size : 0);
  }
  // Of the query latent, the head, and compressed entries.
  int64_t operator()(const CompressedAttention& a) const {
    int64_t count = a.query_lora_rank + a.head_size;
    if (a.ratio == 0) return count;
    count += a.head_size;
    if (a.indexer.has_value() && a.indexer->heads != 0) {
      count += a.indexer->head_size;
    }
    return count;
  }
  int64_t operator()(const CrossAttention& a) const {
    return HeadNorms(a.qk_norm, a.query_heads, a.kv_heads, a.head_size,
                     norm_bias);
  }
};

}  // namespace

int64_t AttentionParameters(const Attention& attention, int64_t hidden) {
  return std::visit(CountAttention{hidden}, attention);
}

int64_t AttentionNormParameters(const Attention& attention, bool norm_bias) {
  return std::visit(CountAttentionNorms{norm_bias}, attention);
}

}  // namespace mansard::model
