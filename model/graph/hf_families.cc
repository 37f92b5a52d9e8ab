#include "model/graph/hf_families.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kReadKeys[] = {
    "architectures",
    "attention_bias",
    "dtype",
    "head_dim",
    "hidden_act",
    "hidden_size",
    "intermediate_size",
    "layer_types",
    "max_position_embeddings",
    "max_window_layers",
    "mlp_bias",
    "model_type",
    "num_attention_heads",
    "num_hidden_layers",
    "num_key_value_heads",
    "sliding_window",
    "tie_word_embeddings",
    "torch_dtype",
    "use_sliding_window",
    "vocab_size",
};

constexpr absl::string_view kQuantizationKeys[] = {
    "compression_config",
    "quantization",
    "quantization_config",
};

// Rotation angles, norm epsilons, dropout, initialisation, token ids,
// generation defaults, bookkeeping of the library.
constexpr absl::string_view kHarmlessKeys[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "attention_dropout",
    "attn_implementation",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "is_decoder",
    "label2id",
    "layer_norm_eps",
    "length_penalty",
    "max_length",
    "max_sequence_length",
    "min_length",
    "no_repeat_ngram_size",
    "norm_eps",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "original_max_position_embeddings",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "pad_token_id",
    "partial_rotary_factor",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "rms_norm_eps",
    "rope_interleaved",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torchscript",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "use_bfloat16",
    "use_cache",
    "use_mrope",
};

// Parts of names that stand for weights, work or cache: experts, latent
// attention, state-space layers, extra heads, other sizes.
constexpr absl::string_view kCostlyParts[] = {
    "_bias",   "_config", "_dim",      "_size",    "adapter", "attn_type",
    "audio",   "block",   "chunk",     "compress", "conv",    "cross",
    "encoder", "expert",  "ffn",       "head",     "indexer", "kv_",
    "latent",  "layer",   "linear_",   "lora",     "mamba",   "mlp",
    "moe",     "mtp",     "n_embd",    "nextn",    "norm",    "num_",
    "quant",   "rank",    "recurrent", "router",   "shar",    "sparse",
    "ssm",     "vision",  "vocab",     "window",
};

static_assert(std::is_sorted(std::begin(kReadKeys), std::end(kReadKeys)));
static_assert(std::is_sorted(std::begin(kQuantizationKeys),
                             std::end(kQuantizationKeys)));
static_assert(std::is_sorted(std::begin(kHarmlessKeys),
                             std::end(kHarmlessKeys)));

template <size_t kSize>
bool Contains(const absl::string_view (&sorted)[kSize], absl::string_view key) {
  return std::binary_search(std::begin(sorted), std::end(sorted), key);
}

}  // namespace

KeyRole RoleOfKey(absl::string_view key) {
  if (Contains(kReadKeys, key)) return KeyRole::kRead;
  if (Contains(kQuantizationKeys, key)) return KeyRole::kQuantization;
  if (Contains(kHarmlessKeys, key)) return KeyRole::kHarmless;
  for (absl::string_view part : kCostlyParts) {
    if (absl::StrContains(key, part)) return KeyRole::kCostly;
  }
  return KeyRole::kUnknown;
}

}  // namespace mansard::model
