#include "model/ops/op.h"

#include <iterator>

#include "absl/strings/str_cat.h"

namespace mansard::model {

absl::string_view OpKindName(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
      return "embedding";
    case OpKind::kNorm:
      return "norm";
    case OpKind::kGemm:
      return "gemm";
    case OpKind::kGroupedGemm:
      return "grouped_gemm";
    case OpKind::kRope:
      return "rope";
    case OpKind::kAttentionDecode:
      return "attention_decode";
    case OpKind::kAttentionPrefill:
      return "attention_prefill";
    case OpKind::kActivation:
      return "activation";
    case OpKind::kResidual:
      return "residual";
    case OpKind::kAdd:
      return "add";
    case OpKind::kQuantize:
      return "quantize";
    case OpKind::kDequantize:
      return "dequantize";
    case OpKind::kRouting:
      return "routing";
    case OpKind::kCombine:
      return "combine";
    case OpKind::kGate:
      return "gate";
    case OpKind::kConvolution:
      return "convolution";
    case OpKind::kStateUpdate:
      return "state_update";
    case OpKind::kStateScan:
      return "state_scan";
    case OpKind::kIndexScores:
      return "index_scores";
    case OpKind::kSelect:
      return "select";
    case OpKind::kCompress:
      return "compress";
    case OpKind::kStreamMix:
      return "stream_mix";
    case OpKind::kSampling:
      return "sampling";
    case OpKind::kAllReduce:
      return "all_reduce";
    case OpKind::kAllGather:
      return "all_gather";
    case OpKind::kReduceScatter:
      return "reduce_scatter";
    case OpKind::kAllToAll:
      return "all_to_all";
    case OpKind::kBroadcast:
      return "broadcast";
    case OpKind::kSendReceive:
      return "send_receive";
    case OpKind::kExpertDispatch:
      return "expert_dispatch";
    case OpKind::kExpertCombine:
      return "expert_combine";
    case OpKind::kHost:
      return "host";
  }
  return "";
}

// In the order of Part.
constexpr absl::string_view kPartNames[] = {
    "embedding",
    "embedding_all_reduce",
    "position_embedding",
    "embedding_proj",
    "embedding_norm",
    "layer_input_embedding",
    "layer_input_proj",
    "layer_input_norm",
    "embedding_streams",
    "mixer_stream_weights",
    "mixer_stream_mix",
    "input_norm",
    "attention_norm",
    "attention_quantize",
    "qkv_proj",
    "encoder_kv_proj",
    "encoder_k_norm",
    "qk_norm_all_reduce",
    "qk_norm",
    "latent_proj",
    "q_latent_norm",
    "kv_latent_norm",
    "q_quantize",
    "q_proj",
    "rope",
    "index_q_proj",
    "index_k_proj",
    "index_k_norm",
    "index_rope",
    "index_pool",
    "index_scores",
    "index_select",
    "compress_proj",
    "compress_pool",
    "kv_quantize",
    "kv_expand",
    "absorb_q",
    "context_gather",
    "attention",
    "context_reduce",
    "absorb_v",
    "o_rope",
    "o_gate_proj",
    "o_gate",
    "o_down_quantize",
    "o_down_proj",
    "o_quantize",
    "o_proj",
    "recurrent_quantize",
    "recurrent_proj",
    "gate_quantize",
    "gate_proj",
    "convolution",
    "state_quantize",
    "state_proj",
    "state_all_reduce",
    "state_norm",
    "decay_quantize",
    "decay_proj",
    "recurrent_state",
    "recurrent_norm_all_reduce",
    "recurrent_norm",
    "recurrent_gate",
    "recurrent_o_quantize",
    "recurrent_o_proj",
    "mixer_sum",
    "attention_all_reduce",
    "attention_post_norm",
    "attention_residual",
    "mixer_stream_merge",
    "ffn_stream_weights",
    "ffn_stream_mix",
    "ffn_norm",
    "ffn_quantize",
    "up_proj",
    "activation",
    "down_quantize",
    "down_proj",
    "router_quantize",
    "router",
    "top_k",
    "expert_input_norm",
    "expert_gather",
    "expert_dispatch",
    "expert_return",
    "expert_scatter",
    "latent_down_quantize",
    "latent_down",
    "expert_up",
    "expert_activation",
    "expert_down_quantize",
    "expert_down",
    "combine",
    "latent_norm",
    "latent_up_quantize",
    "latent_up",
    "expert_output_norm",
    "shared_up",
    "shared_activation",
    "shared_down_quantize",
    "shared_down",
    "shared_gate_proj",
    "shared_gate",
    "shared_output_norm",
    "shared_sum",
    "parallel_sum",
    "ffn_all_reduce",
    "ffn_post_norm",
    "ffn_residual",
    "ffn_stream_merge",
    "layer_gate_proj",
    "layer_gate",
    "layer_proj",
    "layer_post_norm",
    "draft_embedding",
    "draft_norms",
    "draft_proj",
    "final_stream_weights",
    "final_stream_mix",
    "final_norm",
    "lm_head_proj",
    "lm_head_quantize",
    "lm_head",
    "logits_all_gather",
    "stage_transfer",
    "stage_gather",
    "sampling",
    "kv_transfer",
    "host",
};
static_assert(std::size(kPartNames) == static_cast<size_t>(Part::kHost) + 1,
              "kHost is the last part");

absl::string_view PartName(Part part) {
  return kPartNames[static_cast<size_t>(part)];
}

std::string OpName(const Op& op, const ModelGraph& graph) {
  std::string name = op.draft ? "draft." : "";
  if (op.layer_kind >= 0) {
    absl::StrAppend(
        &name, "layers.",
        graph.spec().layer_kinds[static_cast<size_t>(op.layer_kind)].name, ".");
  }
  absl::StrAppend(&name, PartName(op.part));
  if (op.group >= 0) absl::StrAppend(&name, "[", op.group, "]");
  return name;
}

}  // namespace mansard::model
