#include "model/graph/hf_keys.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace mansard::model {
namespace {

// Rotation angles, dropout, initialisation, scales of activations, generation
// defaults, bookkeeping of libraries.
constexpr absl::string_view kHarmlessKeys[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_from_model_config",
    "_name_or_path",
    "attention_softmax_in_fp32",
    "attn_implementation",
    "auto_map",
    "aux_loss_alpha",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bf16",
    "cache_implementation",
    "chunk_size",
    "chunk_size_feed_forward",
    "clip_qkv",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "ep_size",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "flash_attn",
    "for_llm_compressor",
    "fp16",
    "fp32",
    "id2label",
    "ignore_index",
    "init_device",
    "init_std",
    "initial_context_length",
    "initializer_factor",
    "is_decoder",
    "keys_to_ignore_at_inference",
    "label2id",
    "layerdrop",
    "length_penalty",
    "logit_scale",
    "logits_scaling",
    "mamba_chunk_size",
    "mamba_dt_init_floor",
    "mamba_dt_limit",
    "mamba_dt_max",
    "mamba_dt_min",
    "max_length",
    "max_sequence_length",
    "min_length",
    "model_max_length",
    "n_ctx",
    "n_group",
    "no_repeat_ngram_size",
    "norm_topk_prob",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_logits_to_keep",
    "num_return_sequences",
    "onnx_safe",
    "original_max_position_embeddings",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_router_logits",
    "output_scores",
    "partial_rotary_factor",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "projection_dim",
    "query_pre_attn_scalar",
    "remove_invalid_values",
    "repetition_penalty",
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "return_dict",
    "return_dict_in_generate",
    "rope_interleave",
    "rope_interleaved",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rotary_emb_base",
    "routed_scaling_factor",
    "scale_attention_softmax_in_fp32",
    "scale_attn_weights",
    "scoring_func",
    "select_layer",
    "seq_aux",
    "suppress_tokens",
    "swiglu_limit",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "time_step_floor",
    "time_step_init_scheme",
    "time_step_limit",
    "time_step_max",
    "time_step_min",
    "time_step_scale",
    "tokenizer_class",
    "tokenizer_name",
    "top_k",
    "top_p",
    "topk_group",
    "topk_method",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "use_associative_scan",
    "use_bfloat16",
    "use_cache",
    "use_flash_attn",
    "use_mamba_kernels",
    "use_mambapy",
    "use_mrope",
    "verbose",
    "z_loss_weight",
};

constexpr absl::string_view kHarmlessEnds[] = {
    "_drop",  "_dropout",      "_dropout_prob", "_eps",         "_epsilon",
    "_init",  "_jitter_noise", "_loss_coef",    "_multiplier",  "_pdrop",
    "_range", "_softcapping",  "_token_id",     "_token_index",
};

// Parts of names that stand for encoders around a decoder.
constexpr absl::string_view kTowerParts[] = {
    "audio",      "code2wav",  "image",     "mm_",           "multi_modal",
    "multimodal", "perceiver", "projector", "spatial_merge", "speech",
    "talker",     "video",     "vision",    "visual",        "vit_",
    "eoa_",       "boa_",
};

// Parts of names that stand for weights, work or cache: experts, latent
// attention, state-space layers, extra heads, other sizes.
constexpr absl::string_view kCostlyParts[] = {
    "_bias",  "_config",   "_dim",     "_size",   "adapter", "attn_type",
    "block",  "chunk",     "compress", "conv",    "cross",   "encoder",
    "expert", "ffn",       "head",     "indexer", "kv_",     "latent",
    "layer",  "linear_",   "lora",     "mamba",   "mlp",     "moe",
    "mtp",    "n_embd",    "nextn",    "norm",    "num_",    "quant",
    "rank",   "recurrent", "router",   "shar",    "sparse",  "ssm",
    "vocab",  "window",
};

static_assert(std::is_sorted(std::begin(kHarmlessKeys),
                             std::end(kHarmlessKeys)));

template <size_t kSize>
bool HasPart(const absl::string_view (&parts)[kSize], absl::string_view key) {
  return std::any_of(
      std::begin(parts), std::end(parts),
      [key](absl::string_view part) { return absl::StrContains(key, part); });
}

}  // namespace

KeyRole RoleOfKey(absl::string_view key, const HfFamily& family) {
  if (HasName(family.harmless_keys, key) ||
      std::binary_search(std::begin(kHarmlessKeys), std::end(kHarmlessKeys),
                         key) ||
      std::any_of(
          std::begin(kHarmlessEnds), std::end(kHarmlessEnds),
          [key](absl::string_view end) { return absl::EndsWith(key, end); })) {
    return KeyRole::kHarmless;
  }
  if (HasPart(kTowerParts, key)) return KeyRole::kTower;
  if (HasPart(kCostlyParts, key)) return KeyRole::kCostly;
  return KeyRole::kUnknown;
}

}  // namespace mansard::model
