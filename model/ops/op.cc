#include "model/ops/op.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mansard::model {
namespace {

// "bf16", or "fp8-e4m3*bf16" where operands differ.
template <class Shape>
std::string GemmFormats(const Shape& shape) {
  std::string text(TraitsOf(shape.weights).name);
  if (shape.input != shape.weights) {
    absl::StrAppend(&text, "*", TraitsOf(shape.input).name);
  }
  if (shape.compute != shape.input) {
    absl::StrAppend(&text, " at ", TraitsOf(shape.compute).name);
  }
  return text;
}

std::string GroupText(const RequestGroup& group) {
  return absl::StrCat("requests=", group.request_count,
                      " new=", group.new_tokens, " prior=", group.prior_tokens);
}

template <class Shape>
std::string AttentionFormats(const Shape& shape) {
  std::string text = absl::StrCat(" ", TraitsOf(shape.input).name);
  if (shape.kv_cache != shape.input) {
    absl::StrAppend(&text, " kv ", TraitsOf(shape.kv_cache).name);
  }
  if (!shape.fused) absl::StrAppend(&text, " unfused");
  return text;
}

struct ShapeToText {
  std::string operator()(const GemmShape& s) const {
    std::string text = s.batch == 1 ? "" : absl::StrCat("batch=", s.batch, " ");
    absl::StrAppend(&text, "m=", s.m, " n=", s.n, " k=", s.k, " ",
                    GemmFormats(s));
    return text;
  }
  std::string operator()(const GroupedGemmShape& s) const {
    return absl::StrFormat("rows=%.15g experts=%.6g/%d n=%d k=%d %s", s.rows,
                           s.distinct_experts, s.experts, s.n, s.k,
                           GemmFormats(s));
  }
  std::string operator()(const AttentionShape& s) const {
    std::string text =
        absl::StrCat(GroupText(s.group), " heads=", s.query_heads, "/",
                     s.kv_heads, " size=", s.head_size);
    if (s.window != 0) absl::StrAppend(&text, " window=", s.window);
    if (s.chunk != 0) absl::StrAppend(&text, " chunk=", s.chunk);
    if (!s.causal) text += " full";
    return text + AttentionFormats(s);
  }
  std::string operator()(const LatentAttentionShape& s) const {
    return absl::StrCat(GroupText(s.group), " heads=", s.attention.query_heads,
                        " rank=", s.attention.kv_lora_rank,
                        " sizes=", s.attention.nope_head_size, "+",
                        s.attention.rope_head_size, "/",
                        s.attention.value_head_size, AttentionFormats(s));
  }
  std::string operator()(const ElementwiseShape& s) const {
    return absl::StrCat("rows=", s.rows, " columns=", s.columns, " ",
                        TraitsOf(s.format).name);
  }
  std::string operator()(const CollectiveShape& s) const {
    return absl::StrCat("ranks=", s.ranks, " ", LinkTierName(s.tier));
  }
  std::string operator()(const HostShape& s) const {
    return absl::StrCat("requests=", s.requests,
                        " prefill_tokens=", s.prefill_tokens);
  }
};

}  // namespace

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
    case OpKind::kSampling:
      return "sampling";
    case OpKind::kAllReduce:
      return "all_reduce";
    case OpKind::kAllGather:
      return "all_gather";
    case OpKind::kHost:
      return "host";
  }
  return "";
}

// In the order of Part.
constexpr absl::string_view kPartNames[] = {
    "embedding",
    "embedding_all_reduce",
    "input_norm",
    "attention_norm",
    "attention_quantize",
    "qkv_proj",
    "qk_norm",
    "latent_proj",
    "q_latent_norm",
    "kv_latent_norm",
    "q_quantize",
    "q_proj",
    "rope",
    "kv_quantize",
    "kv_expand",
    "absorb_q",
    "attention",
    "absorb_v",
    "o_quantize",
    "o_proj",
    "attention_all_reduce",
    "attention_residual",
    "ffn_norm",
    "ffn_quantize",
    "up_proj",
    "activation",
    "down_quantize",
    "down_proj",
    "router",
    "top_k",
    "expert_up",
    "expert_activation",
    "expert_down_quantize",
    "expert_down",
    "combine",
    "shared_up",
    "shared_activation",
    "shared_down_quantize",
    "shared_down",
    "shared_sum",
    "parallel_sum",
    "ffn_all_reduce",
    "ffn_residual",
    "final_norm",
    "lm_head",
    "logits_all_gather",
    "sampling",
    "host",
};
static_assert(std::size(kPartNames) == static_cast<size_t>(Part::kHost) + 1,
              "kHost is the last part");

absl::string_view PartName(Part part) {
  return kPartNames[static_cast<size_t>(part)];
}

std::string OpName(const Op& op, const ModelGraph& graph) {
  std::string name;
  if (op.layer_kind >= 0) {
    absl::StrAppend(
        &name, "layers.",
        graph.spec().layer_kinds[static_cast<size_t>(op.layer_kind)].name, ".");
  }
  absl::StrAppend(&name, PartName(op.part));
  if (op.group >= 0) absl::StrAppend(&name, "[", op.group, "]");
  return name;
}

std::string ShapeText(const Op& op) {
  return std::visit(ShapeToText{}, op.shape);
}

}  // namespace mansard::model
