#include "model/ops/op.h"

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

absl::string_view PartName(Part part) {
  switch (part) {
    case Part::kEmbedding:
      return "embedding";
    case Part::kEmbeddingAllReduce:
      return "embedding_all_reduce";
    case Part::kInputNorm:
      return "input_norm";
    case Part::kAttentionNorm:
      return "attention_norm";
    case Part::kAttentionQuantize:
      return "attention_quantize";
    case Part::kQkvProj:
      return "qkv_proj";
    case Part::kQkNorm:
      return "qk_norm";
    case Part::kRope:
      return "rope";
    case Part::kAttention:
      return "attention";
    case Part::kOutputQuantize:
      return "o_quantize";
    case Part::kOutputProj:
      return "o_proj";
    case Part::kAttentionAllReduce:
      return "attention_all_reduce";
    case Part::kAttentionResidual:
      return "attention_residual";
    case Part::kFeedForwardNorm:
      return "ffn_norm";
    case Part::kFeedForwardQuantize:
      return "ffn_quantize";
    case Part::kUpProj:
      return "up_proj";
    case Part::kActivation:
      return "activation";
    case Part::kDownQuantize:
      return "down_quantize";
    case Part::kDownProj:
      return "down_proj";
    case Part::kFeedForwardAllReduce:
      return "ffn_all_reduce";
    case Part::kFeedForwardResidual:
      return "ffn_residual";
    case Part::kFinalNorm:
      return "final_norm";
    case Part::kHead:
      return "lm_head";
    case Part::kLogitsAllGather:
      return "logits_all_gather";
    case Part::kSampling:
      return "sampling";
    case Part::kHost:
      return "host";
  }
  return "";
}

// "bf16", or "fp8-e4m3*bf16" where operands differ.
std::string GemmFormats(const GemmShape& shape) {
  std::string text(TraitsOf(shape.weights).name);
  if (shape.input != shape.weights) {
    absl::StrAppend(&text, "*", TraitsOf(shape.input).name);
  }
  if (shape.compute != shape.input) {
    absl::StrAppend(&text, " at ", TraitsOf(shape.compute).name);
  }
  return text;
}

struct ShapeToText {
  std::string operator()(const GemmShape& s) const {
    return absl::StrCat("m=", s.m, " n=", s.n, " k=", s.k, " ", GemmFormats(s));
  }
  std::string operator()(const AttentionShape& s) const {
    std::string text = absl::StrCat(
        "requests=", s.group.request_count, " new=", s.group.new_tokens,
        " prior=", s.group.prior_tokens, " heads=", s.query_heads, "/",
        s.kv_heads, " size=", s.head_size);
    if (s.window != 0) absl::StrAppend(&text, " window=", s.window);
    absl::StrAppend(&text, " ", TraitsOf(s.input).name);
    if (s.kv_cache != s.input) {
      absl::StrAppend(&text, " kv ", TraitsOf(s.kv_cache).name);
    }
    return text;
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
    case OpKind::kQuantize:
      return "quantize";
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
