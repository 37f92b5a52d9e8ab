#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/ops/op.h"

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
    if (s.value_size() != s.head_size) {
      absl::StrAppend(&text, "/", s.value_size());
    }
    if (s.cross) absl::StrAppend(&text, " encoder=", s.group.encoder_tokens);
    if (s.shared_kv) text += " shared";
    if (s.window != 0) absl::StrAppend(&text, " window=", s.window);
    if (s.chunk != 0) absl::StrAppend(&text, " chunk=", s.chunk);
    if (!s.causal) text += " full";
    return text + AttentionFormats(s);
  }
  std::string operator()(const LatentAttentionShape& s) const {
    return absl::StrCat(GroupText(s.group), " heads=", s.query_heads,
                        " rank=", s.kv_lora_rank, " sizes=", s.nope_head_size,
                        "+", s.rope_head_size, "/", s.value_head_size,
                        s.top_k == 0 ? "" : absl::StrCat(" top_k=", s.top_k),
                        AttentionFormats(s));
  }
  std::string operator()(const ElementwiseShape& s) const {
    return absl::StrCat("rows=", s.rows, " columns=", s.columns, " ",
                        TraitsOf(s.format).name);
  }
  std::string operator()(const CompressedAttentionShape& s) const {
    return absl::StrCat(GroupText(s.group), " heads=", s.query_heads,
                        " size=", s.head_size, " window=", s.window,
                        " ratio=", s.ratio,
                        s.top_k == 0 ? "" : absl::StrCat(" top_k=", s.top_k),
                        AttentionFormats(s));
  }
  std::string operator()(const IndexShape& s) const {
    return absl::StrCat(GroupText(s.group), " heads=", s.heads,
                        " size=", s.head_size, " ratio=", s.ratio,
                        " top_k=", s.top_k, " ", TraitsOf(s.input).name,
                        " kv=", TraitsOf(s.kv_cache).name);
  }
  std::string operator()(const RecurrentShape& s) const {
    return absl::StrCat(GroupText(s.group), " heads=", s.heads, "/",
                        s.key_heads, " state=", s.key_size, "x", s.value_size,
                        " ", TraitsOf(s.input).name,
                        " state=", TraitsOf(s.state).name);
  }
  std::string operator()(const CollectiveShape& s) const {
    return absl::StrCat("ranks=", s.ranks,
                        s.nodes() == 1 ? "" : absl::StrCat("/", s.nodes()), " ",
                        LinkTierName(s.tier),
                        s.algorithm == CollectiveAlgorithm::kAuto ? "" : " ",
                        AlgorithmName(s.algorithm),
                        s.links == 1 ? "" : absl::StrCat(" links=", s.links));
  }
  std::string operator()(const ExchangeShape& s) const {
    return absl::StrCat("ranks=", s.ranks,
                        s.nodes() == 1 ? "" : absl::StrCat("/", s.nodes()),
                        " tokens=", s.tokens, " experts=", s.experts_per_token,
                        " columns=", s.columns, " ", TraitsOf(s.format).name,
                        " ", LinkTierName(s.tier));
  }
  std::string operator()(const HostShape& s) const {
    return absl::StrCat("requests=", s.requests,
                        " prefill_tokens=", s.prefill_tokens);
  }
};

}  // namespace

std::string ShapeText(const Op& op) {
  return std::visit(ShapeToText{}, op.shape);
}

}  // namespace mansard::model
