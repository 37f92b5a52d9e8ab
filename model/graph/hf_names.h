// The names that classes give to the same key.
#pragma once

#include "absl/strings/string_view.h"

namespace mansard::model {

inline constexpr absl::string_view kHiddenSizeKey =
    "hidden_size|n_embd|n_embed|d_model|model_dim";
inline constexpr absl::string_view kVocabularyKey =
    "vocab_size|padded_vocab_size";
inline constexpr absl::string_view kLayersKey =
    "num_hidden_layers|n_layer|n_layers|num_layers";
inline constexpr absl::string_view kQueryHeadsKey =
    "num_attention_heads|n_head|n_heads|num_heads";
inline constexpr absl::string_view kKvHeadsKey =
    "num_key_value_heads|n_head_kv|num_kv_heads|multi_query_group_num|"
    "attn_config.kv_n_heads";
inline constexpr absl::string_view kHeadSizeKey =
    "head_dim|kv_channels|attention_head_dim";
inline constexpr absl::string_view kIntermediateKey =
    "intermediate_size|ffn_dim|ffn_hidden_size|n_inner";
// Not names of the same key: the first that is there counts.
inline constexpr absl::string_view kContextKeys[] = {
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
    "model_max_length"};

}  // namespace mansard::model
