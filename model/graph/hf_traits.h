// Rules and defaults that the rows of hf_families.h put together.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace mansard::model {

// Whether a part is there: always, never, or as a key of the file says.
struct HfSwitch {
  absl::string_view keys = "";     // Empty: `absent` always holds.
  bool absent = false;             // Where the file has no such key.
  bool negated = false;            // The key says that the part is missing.
  absl::string_view or_keys = "";  // Keys that put the part there as well.
};
inline constexpr HfSwitch kNever = {};
inline constexpr HfSwitch kAlways = {.absent = true};
constexpr HfSwitch ByKey(absl::string_view keys, bool absent) {
  return {.keys = keys, .absent = absent};
}

enum class WindowRule {
  kNone,         // The class has no window.
  kEveryLayer,   // `sliding_window`, in every layer.
  kUpperLayers,  // From layer `max_window_layers` on, or by `layer_types`, when
                 // `use_sliding_window` is true.
  kPattern,      // By `layer_types`; else in all but every n-th layer, by
                 // `sliding_window_pattern`.
};

enum class AttentionRule {
  kGrouped,
  kLatent,  // DeepSeek-V2; with an indexer where `indexer` says so.
};

// How many heads keys and values have.
enum class KvHeadsRule {
  kWritten,     // As written; `kv_heads` where they are not.
  kMultiQuery,  // One, unless `multi_query` is off.
  kGroups,      // `multi_query_group_num`, when `multi_query_attention` is on.
  kFalcon,      // By `new_decoder_architecture` and `multi_query`.
  kByLayer,     // Each layer says its own: what is read is one a query head.
};

// Whether attention and feed-forward follow each other.
enum class ParallelRule {
  kNone,
  kOneNorm,   // Side by side, behind one norm (GPT-J).
  kTwoNorms,  // Each its own norm, unless `use_parallel_residual` is off
              // (GPT-NeoX).
  kFalcon,    // By `new_decoder_architecture` and `parallel_attn`.
};

// How many modules there are for the tokens after the next one.
enum class MtpRule {
  kNone,     // The class has no such keys.
  kUnused,   // The class ignores the keys that its files have (ERNIE 4.5).
  kLayers,   // `num_nextn_predict_layers` or `mtp_num_hidden_layers`.
  kModules,  // `num_mtp_modules` of `mtp_transformer_layers` layers each
             // (MiniMax-M2).
};

// Which layers have experts.
enum class ExpertLayers {
  kAll,
  kAfterFirst,   // From `first_k_dense_replace` on, every `moe_layer_freq`-th.
  kSparseStep,   // Every `decoder_sparse_step`-th, but `mlp_only_layers`.
  kInterleaved,  // Every `interleave_moe_layer_step`-th, or `moe_layers`.
  kStartToEnd,   // `moe_layer_start_index` to `_end_index`, every
                 // `moe_layer_interval`-th.
};

// The shared experts' width.
enum class SharedExperts {
  kNone,
  kCounted,  // Number of shared experts x an expert's width.
  kByWidth,  // Written.
  kOne,      // One, as wide as an expert.
};

struct HfExperts {
  // 0 where the file has to say it.
  absl::string_view count = "";  // Keys; empty: the class has no experts.
  int64_t default_count = 0;
  absl::string_view per_token = "num_experts_per_tok|num_experts_per_token";
  int64_t default_per_token = 0;
  absl::string_view width = "moe_intermediate_size";
  int64_t default_width = 0;
  ExpertLayers layers = ExpertLayers::kAll;
  int64_t default_first_dense = 0;  // kAfterFirst.
  SharedExperts shared = SharedExperts::kNone;
  absl::string_view shared_keys = "n_shared_experts|num_shared_experts";
  int64_t default_shared = 0;
  bool shared_gate = false;  // shared_expert_gate of MixtureOfExperts.
  bool router_bias = false;
  bool expert_bias = false;
};

// Defaults of latent attention; 0: the file has to say it.
struct HfLatent {
  int query_rank = 0;
  int kv_rank = 0;
  int nope = 0;
  int rope = 0;
  int value = 0;
  int index_heads = 0;
};

// For a decoder that is a part of a larger file and leaves out its sizes. 0:
// the file has to say it.
struct HfSizes {
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t vocabulary = 0;
};

}  // namespace mansard::model
