// A decoder-only transformer as it is written down: layer kinds, how often and
// where each stands, embedding and head. Unchecked; ModelGraph checks.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/base/format.h"

namespace mansard::model {

struct GroupedQueryAttention {
  int query_heads = 0;
  int kv_heads = 0;
  int head_size = 0;  // Not hidden size / query_heads: many models differ.
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;
  // Positions that one position sees, itself included; 0: all earlier ones.
  int64_t sliding_window = 0;
  // Positions are split into chunks of this many, and see their own chunk
  // alone; 0: no chunks. Not together with a window.
  int64_t chunk = 0;

  bool operator==(const GroupedQueryAttention&) const = default;
};

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 §2.1): keys and
// values are rebuilt from one latent vector a token, which alone is cached,
// beside one rotated key shared by all heads.
struct LatentAttention {
  int query_heads = 0;
  int kv_lora_rank = 0;
  int query_lora_rank = 0;  // 0: queries are projected directly.
  int nope_head_size = 0;   // Part of a key without rotation.
  int rope_head_size = 0;
  int value_head_size = 0;

  int key_head_size() const { return nope_head_size + rope_head_size; }

  bool operator==(const LatentAttention&) const = default;
};

using Attention = std::variant<GroupedQueryAttention, LatentAttention>;
int QueryHeads(const Attention& attention);

struct DenseFeedForward {
  int64_t intermediate_size = 0;
  bool gated = true;
  bool bias = false;

  bool operator==(const DenseFeedForward&) const = default;
};

// A router sends each token to `experts_per_token` of `expert_count` experts;
// shared experts see every token.
struct MixtureOfExperts {
  int expert_count = 0;
  int experts_per_token = 0;
  int64_t expert_intermediate_size = 0;
  int64_t shared_intermediate_size = 0;  // All shared experts together.
  bool gated = true;

  bool operator==(const MixtureOfExperts&) const = default;
};

using FeedForward = std::variant<DenseFeedForward, MixtureOfExperts>;

struct LayerKind {
  std::string name;
  Attention attention;
  FeedForward feed_forward;
  // Attention and feed-forward read the same norm and are summed (GPT-J,
  // Falcon, Command R), instead of following each other.
  bool parallel = false;

  bool operator==(const LayerKind&) const = default;
};

// Storage formats of weights, GEMM inputs and KV cache.
struct Precision {
  Format weights = Format::kBf16;
  Format activations = Format::kBf16;
  Format kv_cache = Format::kBf16;

  bool operator==(const Precision&) const = default;
};

struct ModelGraphSpec {
  std::string id;  // Empty for inline graphs.
  std::string display_name;
  std::string source;
  int64_t hidden_size = 0;
  int64_t vocabulary_size = 0;
  std::vector<LayerKind> layer_kinds;
  std::vector<int> layer_kind_indexes;  // One per layer.
  bool tied_embeddings = false;
  Precision native_precision;
  int64_t max_context = 0;
};

// Elements that one token adds to one layer's cache: a key and a value for each
// of `kv_heads` heads; for latent attention one latent vector and one rotated
// key, however many heads. The one place where KV width is defined; time and
// memory both use it.
int64_t KvElementsPerToken(const GroupedQueryAttention& attention,
                           int kv_heads);
int64_t KvElementsPerToken(const LatentAttention& attention);

}  // namespace mansard::model
