// Rows of classes with recurrent mixers or compressed attention. Checked
// against transformers 5 (configuration_*.py, modeling_*.py) and the files that
// published models bring along (MiniMax, Kimi, state-spaces).
#include "model/graph/hf_families.h"
#include "model/graph/hf_hybrids.h"

namespace mansard::model {
namespace {

constexpr HfSwitch kAttentionBias = ByKey("attention_bias", false);
constexpr HfSwitch kMlpBias = ByKey("mlp_bias", false);

// For classes without a longest context.
constexpr int64_t kNoLongestContext = 1 << 20;

constexpr HfExperts kQwenExperts = {
    .count = "num_experts",
    .default_count = 512,
    .default_per_token = 10,
    .default_width = 512,
    .layers = ExpertLayers::kSparseStep,
    .shared = SharedExperts::kByWidth,
    .shared_keys = "shared_expert_intermediate_size",
    .default_shared = 512,
    .shared_gate = true};

constexpr HfFamily kFamilies[] = {
    {.architectures = "Qwen3NextForCausalLM",
     .model_types = "qwen3_next",
     .max_context = 32768,
     .kv_heads = 2,
     .head_size = 256,
     .qkv_bias = kAttentionBias,
     .output_bias = kAttentionBias,
     .qk_norm = QkNorm::kPerHead,
     .rotary_percent = 25,
     .experts = kQwenExperts,
     .layers = ReadGatedDeltaLayers},
    {.architectures = "Qwen3_5ForConditionalGeneration|Qwen3_5ForCausalLM",
     .model_types = "qwen3_5|qwen3_5_text",
     .max_context = 32768,
     .kv_heads = 4,
     .head_size = 256,
     .qkv_bias = kAttentionBias,
     .output_bias = kAttentionBias,
     .qk_norm = QkNorm::kPerHead,
     .rotary_percent = 25,
     .layers = ReadGatedDeltaLayers},
    {.architectures =
         "Qwen3_5MoeForConditionalGeneration|Qwen3_5MoeForCausalLM",
     .model_types = "qwen3_5_moe|qwen3_5_moe_text",
     .max_context = 32768,
     .kv_heads = 2,
     .head_size = 256,
     .qkv_bias = kAttentionBias,
     .output_bias = kAttentionBias,
     .qk_norm = QkNorm::kPerHead,
     .rotary_percent = 25,
     .experts = {.count = "num_experts",
                 .default_count = 256,
                 .default_per_token = 8,
                 .default_width = 512,
                 .shared = SharedExperts::kByWidth,
                 .shared_keys = "shared_expert_intermediate_size",
                 .default_shared = 512,
                 .shared_gate = true},
     .harmless_keys = "decoder_sparse_step",
     .layers = ReadGatedDeltaLayers},
    {.architectures = "JambaForCausalLM",
     .model_types = "jamba",
     .max_context = 262144,
     .kv_heads = 8,
     .rotary_percent = 0,
     .experts = {.count = "num_experts",
                 .default_count = 16,
                 .default_per_token = 2,
                 .width = "intermediate_size"},
     .layers = ReadPeriodicMambaLayers},
    {.architectures = "BambaForCausalLM",
     .model_types = "bamba",
     .max_context = 262144,
     .kv_heads = 8,
     .rotary_percent = 50,
     .harmless_keys = "attn_rotary_emb|z_loss_coefficient",
     .layers = ReadBambaLayers},
    {.architectures = "GraniteMoeHybridForCausalLM",
     .model_types = "granitemoehybrid",
     .max_context = 2048,
     .qkv_bias = kAttentionBias,
     .output_bias = kAttentionBias,
     .experts = {.count = "num_local_experts",
                 .default_count = 8,
                 .default_per_token = 2,
                 .width = "intermediate_size",
                 .default_width = 11008,
                 .shared = SharedExperts::kByWidth,
                 .shared_keys = "shared_intermediate_size",
                 .default_shared = 1024},
     .harmless_keys = "init_method|normalization_function|"
                      "position_embedding_type",
     .layers = ReadGraniteHybridLayers},
    {.architectures = "FalconH1ForCausalLM",
     .model_types = "falcon_h1",
     .max_context = 8192,
     .kv_heads = 8,
     .qkv_bias = kAttentionBias,
     .output_bias = kAttentionBias,
     .mlp_bias = kMlpBias,
     .harmless_keys = "mamba_norm_before_gate|mamba_use_mlp|"
                      "mlp_expansion_factor|mlp_multipliers|ssm_multipliers",
     .layers = ReadSideBySideLayers},
    {.architectures = "NemotronHForCausalLM",
     .model_types = "nemotron_h",
     .max_context = 4096,
     .kv_heads = 8,
     .head_size = 128,
     .qkv_bias = kAttentionBias,
     .output_bias = kAttentionBias,
     .rotary_percent = 0,
     .gated = false,
     .mlp_bias = kMlpBias,
     .experts = {.count = "n_routed_experts",
                 .default_count = 8,
                 .default_per_token = 2,
                 .default_width = 7688,
                 .shared = SharedExperts::kByWidth,
                 .shared_keys = "moe_shared_expert_intermediate_size",
                 .default_shared = 7688},
     .harmless_keys = "expand|mamba_expand|mamba_hidden_act|"
                      "mamba_proj_bias|moe_shared_expert_overlap|num_query_"
                      "groups|time_step_rank",
     .layers = ReadBlockLayers},
    {.architectures = "MiniMaxText01ForCausalLM|MiniMaxM1ForCausalLM|"
                      "MiniMaxForCausalLM",
     .model_types = "minimax_text_01|minimax_m1|minimax",
     .max_context = 131072,
     .kv_heads = 8,
     .experts = {.count = "num_local_experts",
                 .default_count = 8,
                 .default_per_token = 2,
                 .width = "intermediate_size",
                 .shared = SharedExperts::kByWidth,
                 .shared_keys = "shared_intermediate_size",
                 .shared_gate = true},
     .harmless_keys =
         "postnorm|shared_moe_mode|block_size|"
         "layernorm_full_attention_alpha|layernorm_full_attention_beta|"
         "layernorm_linear_attention_alpha|layernorm_linear_attention_beta|"
         "layernorm_mlp_alpha|layernorm_mlp_beta|full_attn_alpha_factor|"
         "full_attn_beta_factor|linear_attn_alpha_factor|linear_attn_beta_"
         "factor|"
         "mlp_alpha_factor|mlp_beta_factor",
     .layers = ReadLightningLayers},
    {.architectures = "KimiLinearForCausalLM|KimiK3ForConditionalGeneration",
     .model_types = "kimi_linear|kimi_k3",
     .attention = AttentionRule::kLatent,
     .experts = {.count = "num_experts",
                 .layers = ExpertLayers::kAfterFirst,
                 .shared = SharedExperts::kCounted},
     .harmless_keys =
         "activation_situ_beta|activation_situ_linear_beta|"
         "gate_lower_bound|moe_renormalize|moe_router_activation_func|"
         "num_expert_group|use_grouped_topk",
     .layers = ReadKimiDeltaLayers},
    {.architectures = "MambaForCausalLM",
     .model_types = "mamba",
     .max_context = kNoLongestContext,
     .tied = true,
     .harmless_keys =
         "d_inner|fused_add_norm|pad_vocab_size_multiple|rms_norm|ssm_cfg",
     .layers = ReadMambaLayers},
    {.architectures = "FalconMambaForCausalLM",
     .model_types = "falcon_mamba",
     .max_context = kNoLongestContext,
     .tied = true,
     .harmless_keys = "use_falcon_mambapy",
     .layers = ReadFalconMambaLayers},
    {.architectures = "Mamba2ForCausalLM",
     .model_types = "mamba2",
     .max_context = kNoLongestContext,
     .harmless_keys =
         "norm_before_gate|time_step_rank|"
         "d_inner|fused_add_norm|pad_vocab_size_multiple|rms_norm|ssm_cfg",
     .layers = ReadMamba2Layers},
    {.architectures = "MambaLMHeadModel",
     .model_types = "",
     .max_context = kNoLongestContext,
     .tied = true,
     .harmless_keys = "rms_norm|fused_add_norm|chunk_size|A_init_range",
     .layers = ReadStateSpacesLayers},
    {.architectures = "DeepseekV4ForCausalLM",
     .model_types = "deepseek_v4",
     .max_context = 1048576,
     .experts = {.count = "n_routed_experts",
                 .default_count = 256,
                 .default_per_token = 6,
                 .default_width = 2048,
                 .shared = SharedExperts::kCounted,
                 .default_shared = 1},
     .harmless_keys = "compress_rope_theta|hc_sinkhorn_iters",
     .layers = ReadCompressedLayers},
};

}  // namespace

absl::Span<const HfFamily> RecurrentFamilies() { return kFamilies; }

}  // namespace mansard::model
