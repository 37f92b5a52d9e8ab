// A decoder-only transformer as it is written down: layer kinds, how often and
// where each stands, embedding and head. Unchecked; ModelGraph checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/base/format.h"
#include "model/graph/linear_class.h"

namespace mansard::model {

// Normalisation of queries and keys before their product.
enum class QkNorm {
  kNone,
  kPerHead,     // head_size weights for queries and as many for keys.
  kAllHeads,    // One weight for each element of all heads (OLMo 2).
  kUnweighted,  // Without weights (Llama 4).
};

struct GroupedQueryAttention {
  int query_heads = 0;
  int kv_heads = 0;
  int head_size = 0;  // Not hidden size / query_heads: many models differ.
  // Where values are narrower or wider than keys (MiMo-V2); 0: as wide.
  int value_head_size = 0;
  // Part of a head without rotation; head_size: nothing is rotated.
  int nope_head_size = 0;
  bool qkv_bias = false;
  bool output_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  // The query projection makes a sigmoid gate for the output as well (Qwen3
  // Next).
  bool output_gate = false;
  // One learned logit a query head in the softmax (gpt-oss).
  bool sinks = false;
  // Values are the projected keys: no value projection. Both are cached
  // (Gemma 4).
  bool value_from_key = false;
  // Keys and values are an earlier layer's: no projection, no cache of its own
  // (Gemma 3n).
  bool shared_kv = false;
  // Positions that one position sees, itself included; 0: all earlier ones.
  int64_t sliding_window = 0;
  // Positions are split into chunks of this many, and see their own chunk
  // alone; 0: no chunks. Not together with a window.
  int64_t chunk = 0;

  int value_size() const {
    return value_head_size == 0 ? head_size : value_head_size;
  }

  bool operator==(const GroupedQueryAttention&) const = default;
};

// Scores cached positions by small heads and keeps the best for attention
// (DeepSeek-V3.2's lightning indexer). Its keys, one head, are cached.
struct SparseIndexer {
  int heads = 0;  // 0: the positions are those an earlier layer chose.
  int head_size = 0;
  int64_t top_k = 0;

  bool operator==(const SparseIndexer&) const = default;
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
  // rope_head_size is there but not rotated (Kimi K3).
  bool unrotated = false;
  // The down-projections and the output projection add a bias.
  bool bias = false;
  // A sigmoid gate for the output, projected from the layer's input.
  bool output_gate = false;
  std::optional<SparseIndexer> indexer = std::nullopt;

  int key_head_size() const { return nope_head_size + rope_head_size; }

  bool operator==(const LatentAttention&) const = default;
};

// Attention over a window of single positions and over earlier ones in
// compressed form (DeepSeek-V4, report §2.3): one head is key and value at
// once; every `ratio` positions are pooled into one entry by a learned softmax;
// an indexer may choose among the entries. The output projection is low-rank,
// in groups of heads.
struct CompressedAttention {
  int query_heads = 0;
  int head_size = 0;
  int rope_head_size = 0;  // Part of a head that is rotated.
  int query_lora_rank = 0;
  int output_groups = 0;
  int output_lora_rank = 0;  // Of one group.
  int64_t sliding_window = 0;
  int ratio = 0;  // Positions an entry; 0: only the window.
  // Entries pool twice `ratio` positions, half of them the entry before's:
  // compressor and indexer are twice as wide.
  bool overlap = false;
  // top_k counts entries.
  std::optional<SparseIndexer> indexer = std::nullopt;

  bool operator==(const CompressedAttention&) const = default;
};

// Attention over the positions of an encoder, whose keys and values are
// computed once and do not grow with the text (Llama 3.2 Vision). A pass
// without encoder positions skips the whole layer.
struct CrossAttention {
  int query_heads = 0;
  int kv_heads = 0;
  int head_size = 0;
  QkNorm qk_norm = QkNorm::kNone;

  bool operator==(const CrossAttention&) const = default;
};

using Attention = std::variant<GroupedQueryAttention, LatentAttention,
                               CompressedAttention, CrossAttention>;
int QueryHeads(const Attention& attention);

// How a recurrent mixer updates its state.
enum class StateRule {
  kDecay,          // Lightning attention: S = a S + k v^T.
  kGatedDelta,     // Gated DeltaNet, arXiv 2412.06464: one decay a head.
  kKeyGatedDelta,  // Kimi Delta Attention: one decay a key element.
  kMamba,          // arXiv 2312.00752: one state vector a channel.
  kMamba2,         // arXiv 2405.21060: one decay a head.
};

// The gate on a recurrent mixer's output, projected from its input.
enum class OutputGate { kNone, kFull, kLowRank };

// Linear attention and state-space models: a state of constant size instead of
// a cache. Each of `heads` heads has a state of key_size x value_size.
struct RecurrentMixer {
  StateRule rule = StateRule::kMamba2;
  // kMamba: one head a channel of the inner width.
  int heads = 0;
  // Heads of queries and keys (Mamba 2: groups of C and B); divides `heads`.
  // kMamba: 1.
  int key_heads = 0;
  int key_size = 0;    // Mamba: the state size.
  int value_size = 0;  // Mamba 2: the head size; kMamba: 1.
  // Of the causal convolution before the update; 0: none. Over queries, keys
  // and values (Mamba 2: x, B and C; kMamba: x).
  int conv_kernel = 0;
  bool conv_bias = false;
  bool projection_bias = false;
  OutputGate gate = OutputGate::kFull;
  int gate_rank = 0;  // kLowRank.
  // kKeyGatedDelta: rank of the decays' projection; kMamba: of the time steps'.
  int decay_rank = 0;
  // RMSNorm of the output before its projection: per head, over all heads, or
  // none.
  QkNorm output_norm = QkNorm::kNone;
  // kMamba: norms of the time step, B and C (Jamba).
  bool inner_norms = false;

  int64_t key_width() const { return int64_t{key_heads} * key_size; }
  int64_t value_width() const { return int64_t{heads} * value_size; }
  // Channels of the convolution.
  int64_t conv_width() const;
  int64_t state_elements() const {
    return int64_t{heads} * key_size * value_size;
  }
  // What the convolution keeps: the inputs of kernel - 1 positions.
  int64_t conv_state_elements() const;

  bool operator==(const RecurrentMixer&) const = default;
};

// A layer without a feed-forward.
struct NoFeedForward {
  bool operator==(const NoFeedForward&) const = default;
};

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
  bool shared_gated = true;
  // Experts work on a projection of this width (Nemotron 3 Super); 0: on the
  // hidden size. The router and the shared experts see the hidden size.
  int64_t latent_size = 0;
  bool latent_norm = false;  // Of the latent width, on the way back from it.
  bool router_bias = false;  // A parameter; correction buffers do not count.
  bool expert_bias = false;
  // A sigmoid gate on the shared experts' sum, one output (Qwen2-MoE).
  bool shared_expert_gate = false;
  // Routed and shared experts have a norm each on their way out, the routed
  // one on their way in too (Gemma 4).
  bool separate_norms = false;
  // No router weights are used to choose: a table by token id says where to
  // (DeepSeek-V4's first layers). The scores are still computed.
  bool hash_routing = false;

  bool operator==(const MixtureOfExperts&) const = default;
};

using FeedForward =
    std::variant<NoFeedForward, DenseFeedForward, MixtureOfExperts>;

// Where the norms of a layer stand.
enum class NormPlacement {
  kBefore,  // Before mixer and feed-forward.
  kAfter,   // After each, on the branch (OLMo 2).
  kBoth,    // Before and after each (Gemma 2).
};

// What one class of linear layers is stored in and reads.
struct LinearFormats {
  LinearClass linear = LinearClass::kAttentionInput;
  Format weights = Format::kBf16;
  Format activations = Format::kBf16;

  bool operator==(const LinearFormats&) const = default;
};

// A mixer and a feed-forward; either may be missing, not both. With both an
// attention and a recurrent mixer, they stand side by side: they read the same
// norm and are summed (Falcon-H1).
struct LayerKind {
  std::string name;
  std::optional<Attention> attention = std::nullopt;
  FeedForward feed_forward = NoFeedForward{};
  std::optional<RecurrentMixer> recurrent = std::nullopt;
  NormPlacement norms = NormPlacement::kBefore;
  // Mixer and feed-forward read the same input and are summed (GPT-J, Falcon,
  // Command R), instead of following each other.
  bool parallel = false;
  // Parallel layers: each of the two has a norm of its own (GPT-NeoX).
  bool parallel_norms = false;
  // Scales and gates without an op of their own: one scalar a layer, weights
  // of a router's scale.
  int64_t extra_parameters = 0;
  // Where a class differs from the graph's native precision; a router, from
  // the 16-bit format. In the order of the classes, each once.
  std::vector<LinearFormats> formats = {};

  bool has_mixer() const {
    return attention.has_value() || recurrent.has_value();
  }
  bool has_feed_forward() const {
    return !std::holds_alternative<NoFeedForward>(feed_forward);
  }

  bool operator==(const LayerKind&) const = default;
};

// Whether a layer has linear layers of a class.
bool HasLinear(const LayerKind& kind, LinearClass linear);

// Modules that draft the tokens after the next one (DeepSeek-V3, arXiv
// 2412.19437 §2.2). Beyond the layers, and only run by a pass that drafts.
struct MultiTokenPrediction {
  int modules = 0;  // 0: none. Each has weights of its own.
  // Layers of one module, as indexes into layer_kinds.
  std::vector<int> layer_kind_indexes;
  bool own_embedding = false;  // Not the model's tables.
  bool own_head = false;

  bool operator==(const MultiTokenPrediction&) const = default;
};

// Storage formats of weights, GEMM inputs, KV cache and recurrent state.
struct Precision {
  Format weights = Format::kBf16;
  Format activations = Format::kBf16;
  Format kv_cache = Format::kBf16;
  Format state = Format::kBf16;

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

  // Rows of the embedding table beyond the vocabulary; the head has none.
  int64_t extra_embedding_rows = 0;
  // Width of the tables, where projections lead to the hidden size and back
  // (OPT-350M); 0: the hidden size.
  int64_t embedding_size = 0;
  int64_t position_rows = 0;    // Of a learned position table; 0: none.
  bool embedding_norm = false;  // BLOOM.
  bool final_norm = true;
  bool head_bias = false;
  // Norms of the hidden size, and per-head ones of queries and keys, have a
  // bias as well.
  bool norm_bias = false;
  // A second embedding, of this width, that enters every layer through
  // projections (Gemma 3n); 0: none.
  int64_t layer_input_size = 0;
  int64_t layer_input_rows = 0;
  // Parallel residual streams, mixed before and after mixer and feed-forward
  // (DeepSeek-V4, report §2.2); 1: a plain residual.
  int residual_streams = 1;
  // As LayerKind's, beyond the layers: before the last norm.
  int64_t extra_parameters = 0;
  MultiTokenPrediction mtp;
  // As LayerKind's, of head and embedding.
  std::vector<LinearFormats> formats;
  // Weights of the checkpoint that are no part of the graph (encoders of images
  // and sound), and where that number is from. 0: none known.
  int64_t other_weight_bytes = 0;
  std::string other_weight_source;
};

// Elements that one cached entry of one layer holds: a key and a value for each
// of `kv_heads` heads; for latent attention one latent vector and one rotated
// key, however many heads; for compressed attention one head; 0 where the layer
// keeps no cache that grows. The one place where KV width is defined; time and
// memory both use it. Indexer keys are apart.
int64_t KvElementsPerEntry(const GroupedQueryAttention& attention,
                           int kv_heads);
int64_t KvElementsPerEntry(const LatentAttention& attention);
int64_t KvElementsPerEntry(const CompressedAttention& attention);

// The indexer's cached elements an entry; 0 without one, or with an earlier
// layer's.
int64_t IndexerElementsPerEntry(const Attention& attention);

// What one layer's cache holds for a request of `context` positions: entries
// of single positions, bounded by a window or chunk where there is one, and
// compressed ones.
struct CacheEntries {
  double positions = 0;
  double compressed = 0;
};
CacheEntries EntriesHeld(const Attention& attention, int64_t context);

}  // namespace mansard::model
