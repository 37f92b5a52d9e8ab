#include "model/io/layer_io.h"

#include "absl/strings/str_cat.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

GroupedQueryAttention GroupedFromProto(const v1::Attention& proto) {
  const v1::Attention::GroupedQuery& grouped = proto.grouped_query();
  return {.query_heads = proto.query_head_count(),
          .kv_heads = grouped.kv_head_count(),
          .head_size = grouped.head_size(),
          .qkv_bias = grouped.qkv_bias(),
          .output_bias = grouped.output_bias(),
          .qk_norm = grouped.qk_norm(),
          .sliding_window = proto.sliding_window_token_count(),
          .chunk = proto.chunk_token_count()};
}

LatentAttention LatentFromProto(const v1::Attention& proto,
                                Violations& violations) {
  const auto refuse = [&violations](absl::string_view field, int64_t value) {
    if (value == 0) return;
    violations.Add(field,
                   absl::StrCat("is ", value, "; latent attention takes none"));
  };
  refuse("sliding_window_token_count", proto.sliding_window_token_count());
  refuse("chunk_token_count", proto.chunk_token_count());
  const v1::MultiHeadLatent& latent = proto.multi_head_latent();
  return {.query_heads = proto.query_head_count(),
          .kv_lora_rank = latent.kv_lora_rank(),
          .query_lora_rank = latent.query_lora_rank(),
          .nope_head_size = latent.nope_head_size(),
          .rope_head_size = latent.rope_head_size(),
          .value_head_size = latent.value_head_size()};
}

FeedForward FeedForwardFromProto(const v1::LayerKind& proto,
                                 Violations& violations) {
  switch (proto.feed_forward_case()) {
    case v1::LayerKind::kDense:
      return DenseFeedForward{
          .intermediate_size = proto.dense().intermediate_size(),
          .gated = proto.dense().gated(),
          .bias = proto.dense().bias()};
    case v1::LayerKind::kExperts:
      return ExpertsFromProto(proto.experts());
    case v1::LayerKind::FEED_FORWARD_NOT_SET:
      break;
  }
  violations.Add("dense", "is required, or experts");
  return DenseFeedForward{.intermediate_size = 1};
}

struct WriteAttention {
  v1::Attention& proto;

  void operator()(const GroupedQueryAttention& attention) const {
    proto.set_sliding_window_token_count(attention.sliding_window);
    proto.set_chunk_token_count(attention.chunk);
    v1::Attention::GroupedQuery& grouped = *proto.mutable_grouped_query();
    grouped.set_kv_head_count(attention.kv_heads);
    grouped.set_head_size(attention.head_size);
    grouped.set_qkv_bias(attention.qkv_bias);
    grouped.set_output_bias(attention.output_bias);
    grouped.set_qk_norm(attention.qk_norm);
  }
  void operator()(const LatentAttention& attention) const {
    v1::MultiHeadLatent& latent = *proto.mutable_multi_head_latent();
    latent.set_kv_lora_rank(attention.kv_lora_rank);
    latent.set_query_lora_rank(attention.query_lora_rank);
    latent.set_nope_head_size(attention.nope_head_size);
    latent.set_rope_head_size(attention.rope_head_size);
    latent.set_value_head_size(attention.value_head_size);
  }
};

// Widths are at most 2^24.
struct WriteFeedForward {
  v1::LayerKind& proto;

  void operator()(const DenseFeedForward& feed_forward) const {
    v1::DenseMlp& dense = *proto.mutable_dense();
    dense.set_intermediate_size(
        static_cast<int32_t>(feed_forward.intermediate_size));
    dense.set_gated(feed_forward.gated);
    dense.set_bias(feed_forward.bias);
  }
  void operator()(const MixtureOfExperts& feed_forward) const {
    v1::MixtureOfExperts& experts = *proto.mutable_experts();
    experts.set_expert_count(feed_forward.expert_count);
    experts.set_experts_per_token_count(feed_forward.experts_per_token);
    experts.set_expert_intermediate_size(
        static_cast<int32_t>(feed_forward.expert_intermediate_size));
    experts.set_shared_intermediate_size(
        static_cast<int32_t>(feed_forward.shared_intermediate_size));
    experts.set_gated(feed_forward.gated);
  }
};

}  // namespace

Attention AttentionFromProto(const v1::Attention& proto,
                             Violations& violations) {
  switch (proto.kind_case()) {
    case v1::Attention::kGroupedQuery:
      return GroupedFromProto(proto);
    case v1::Attention::kMultiHeadLatent:
      return LatentFromProto(proto, violations);
    case v1::Attention::KIND_NOT_SET:
      break;
  }
  violations.Add("grouped_query", "is required, or multi_head_latent");
  return GroupedQueryAttention{
      .query_heads = proto.query_head_count(), .kv_heads = 1, .head_size = 1};
}

MixtureOfExperts ExpertsFromProto(const v1::MixtureOfExperts& proto) {
  return {.expert_count = proto.expert_count(),
          .experts_per_token = proto.experts_per_token_count(),
          .expert_intermediate_size = proto.expert_intermediate_size(),
          .shared_intermediate_size = proto.shared_intermediate_size(),
          .gated = proto.gated()};
}

LayerKind LayerKindFromProto(const v1::LayerKind& proto,
                             Violations& violations) {
  LayerKind kind;
  kind.name = proto.kind();
  kind.parallel = proto.parallel();
  if (proto.has_attention()) {
    Violations::Scope scope(violations, "attention");
    kind.attention = AttentionFromProto(proto.attention(), violations);
  } else {
    AddRequired("attention", violations);
    kind.attention =
        GroupedQueryAttention{.query_heads = 1, .kv_heads = 1, .head_size = 1};
  }
  kind.feed_forward = FeedForwardFromProto(proto, violations);
  return kind;
}

v1::LayerKind LayerKindToProto(const LayerKind& kind) {
  v1::LayerKind proto;
  proto.set_kind(kind.name);
  proto.set_parallel(kind.parallel);
  v1::Attention& attention = *proto.mutable_attention();
  attention.set_query_head_count(QueryHeads(kind.attention));
  std::visit(WriteAttention{attention}, kind.attention);
  std::visit(WriteFeedForward{proto}, kind.feed_forward);
  return proto;
}

}  // namespace mansard::model
