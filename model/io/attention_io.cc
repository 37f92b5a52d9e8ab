#include "model/io/attention_io.h"

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

// Only grouped queries have chunks; only they and compressed attention windows.
void RefuseWindows(const v1::Attention& proto, absl::string_view kind,
                   bool window_allowed, Violations& violations) {
  const auto refuse = [&](absl::string_view field, int64_t value) {
    if (value == 0) return;
    violations.Add(field,
                   absl::StrCat("is ", value, "; ", kind, " takes none"));
  };
  if (!window_allowed) {
    refuse("sliding_window_token_count", proto.sliding_window_token_count());
  }
  refuse("chunk_token_count", proto.chunk_token_count());
}

QkNorm GroupedNorm(const v1::Attention::GroupedQuery& grouped,
                   Violations& violations) {
  const QkNorm norm =
      HeadNormFromProto(grouped.head_norm(), "head_norm", violations);
  if (!grouped.qk_norm()) return norm;
  if (grouped.head_norm() != v1::HEAD_NORM_UNSPECIFIED &&
      norm != QkNorm::kPerHead) {
    violations.Add("head_norm",
                   "contradicts qk_norm, which is true: set one of them");
  }
  return QkNorm::kPerHead;
}

GroupedQueryAttention GroupedFromProto(const v1::Attention& proto,
                                       Violations& violations) {
  const v1::Attention::GroupedQuery& grouped = proto.grouped_query();
  Violations::Scope scope(violations, "grouped_query");
  return {.query_heads = proto.query_head_count(),
          .kv_heads = grouped.kv_head_count(),
          .head_size = grouped.head_size(),
          .value_head_size = grouped.value_head_size(),
          .nope_head_size = grouped.nope_head_size(),
          .qkv_bias = grouped.qkv_bias(),
          .output_bias = grouped.output_bias(),
          .qk_norm = GroupedNorm(grouped, violations),
          .output_gate = grouped.output_gate(),
          .sinks = grouped.sinks(),
          .value_from_key = grouped.value_from_key(),
          .shared_kv = grouped.shared_kv(),
          .sliding_window = proto.sliding_window_token_count(),
          .chunk = proto.chunk_token_count()};
}

SparseIndexer IndexerFromProto(const v1::SparseIndexer& proto) {
  return {.heads = proto.head_count(),
          .head_size = proto.head_size(),
          .top_k = proto.selected_entry_count()};
}

LatentAttention LatentFromProto(const v1::Attention& proto,
                                Violations& violations) {
  RefuseWindows(proto, "latent attention", false, violations);
  const v1::MultiHeadLatent& latent = proto.multi_head_latent();
  LatentAttention attention{.query_heads = proto.query_head_count(),
                            .kv_lora_rank = latent.kv_lora_rank(),
                            .query_lora_rank = latent.query_lora_rank(),
                            .nope_head_size = latent.nope_head_size(),
                            .rope_head_size = latent.rope_head_size(),
                            .value_head_size = latent.value_head_size(),
                            .unrotated = latent.unrotated(),
                            .bias = latent.bias(),
                            .output_gate = latent.output_gate()};
  if (latent.has_indexer()) {
    attention.indexer = IndexerFromProto(latent.indexer());
  }
  return attention;
}

CompressedAttention CompressedFromProto(const v1::Attention& proto,
                                        Violations& violations) {
  RefuseWindows(proto, "compressed attention", true, violations);
  const v1::Attention::Compressed& compressed = proto.compressed();
  CompressedAttention attention{
      .query_heads = proto.query_head_count(),
      .head_size = compressed.head_size(),
      .rope_head_size = compressed.rope_head_size(),
      .query_lora_rank = compressed.query_lora_rank(),
      .output_groups = compressed.output_group_count(),
      .output_lora_rank = compressed.output_lora_rank(),
      .sliding_window = proto.sliding_window_token_count(),
      .ratio = compressed.compression_ratio(),
      .overlap = compressed.overlap()};
  if (compressed.has_indexer()) {
    attention.indexer = IndexerFromProto(compressed.indexer());
  }
  return attention;
}

CrossAttention CrossFromProto(const v1::Attention& proto,
                              Violations& violations) {
  RefuseWindows(proto, "cross-attention", false, violations);
  const v1::Attention::Cross& cross = proto.cross();
  Violations::Scope scope(violations, "cross");
  return {
      .query_heads = proto.query_head_count(),
      .kv_heads = cross.kv_head_count(),
      .head_size = cross.head_size(),
      .qk_norm = HeadNormFromProto(cross.head_norm(), "head_norm", violations)};
}

void WriteIndexer(const SparseIndexer& indexer, v1::SparseIndexer& proto) {
  proto.set_head_count(indexer.heads);
  proto.set_head_size(indexer.head_size);
  proto.set_selected_entry_count(indexer.top_k);
}

struct WriteAttention {
  v1::Attention& proto;

  // The norm that has a field of its own is written there.
  void operator()(const GroupedQueryAttention& attention) const {
    proto.set_sliding_window_token_count(attention.sliding_window);
    proto.set_chunk_token_count(attention.chunk);
    v1::Attention::GroupedQuery& grouped = *proto.mutable_grouped_query();
    grouped.set_kv_head_count(attention.kv_heads);
    grouped.set_head_size(attention.head_size);
    grouped.set_value_head_size(attention.value_head_size);
    grouped.set_nope_head_size(attention.nope_head_size);
    grouped.set_qkv_bias(attention.qkv_bias);
    grouped.set_output_bias(attention.output_bias);
    if (attention.qk_norm == QkNorm::kPerHead) {
      grouped.set_qk_norm(true);
    } else {
      grouped.set_head_norm(HeadNormToProto(attention.qk_norm));
    }
    grouped.set_output_gate(attention.output_gate);
    grouped.set_sinks(attention.sinks);
    grouped.set_value_from_key(attention.value_from_key);
    grouped.set_shared_kv(attention.shared_kv);
  }
  void operator()(const LatentAttention& attention) const {
    v1::MultiHeadLatent& latent = *proto.mutable_multi_head_latent();
    latent.set_kv_lora_rank(attention.kv_lora_rank);
    latent.set_query_lora_rank(attention.query_lora_rank);
    latent.set_nope_head_size(attention.nope_head_size);
    latent.set_rope_head_size(attention.rope_head_size);
    latent.set_value_head_size(attention.value_head_size);
    latent.set_unrotated(attention.unrotated);
    latent.set_bias(attention.bias);
    latent.set_output_gate(attention.output_gate);
    if (attention.indexer.has_value()) {
      WriteIndexer(*attention.indexer, *latent.mutable_indexer());
    }
  }
  void operator()(const CompressedAttention& attention) const {
    proto.set_sliding_window_token_count(attention.sliding_window);
    v1::Attention::Compressed& compressed = *proto.mutable_compressed();
    compressed.set_head_size(attention.head_size);
    compressed.set_rope_head_size(attention.rope_head_size);
    compressed.set_query_lora_rank(attention.query_lora_rank);
    compressed.set_output_group_count(attention.output_groups);
    compressed.set_output_lora_rank(attention.output_lora_rank);
    compressed.set_compression_ratio(attention.ratio);
    compressed.set_overlap(attention.overlap);
    if (attention.indexer.has_value()) {
      WriteIndexer(*attention.indexer, *compressed.mutable_indexer());
    }
  }
  void operator()(const CrossAttention& attention) const {
    v1::Attention::Cross& cross = *proto.mutable_cross();
    cross.set_kv_head_count(attention.kv_heads);
    cross.set_head_size(attention.head_size);
    cross.set_head_norm(HeadNormToProto(attention.qk_norm));
  }
};

}  // namespace

void AddUnknownEnum(absl::string_view field, int value,
                    Violations& violations) {
  violations.Add(field, absl::StrCat("is ", value,
                                     "; this version knows no such "
                                     "value"));
}

QkNorm HeadNormFromProto(v1::HeadNorm proto, absl::string_view field,
                         Violations& violations) {
  switch (proto) {
    case v1::HEAD_NORM_UNSPECIFIED:
    case v1::HEAD_NORM_NONE:
      return QkNorm::kNone;
    case v1::HEAD_NORM_PER_HEAD:
      return QkNorm::kPerHead;
    case v1::HEAD_NORM_ALL_HEADS:
      return QkNorm::kAllHeads;
    case v1::HEAD_NORM_UNWEIGHTED:
      return QkNorm::kUnweighted;
    default:  // Proto enums are open.
      AddUnknownEnum(field, proto, violations);
      return QkNorm::kNone;
  }
}

v1::HeadNorm HeadNormToProto(QkNorm norm) {
  switch (norm) {
    case QkNorm::kNone:
      return v1::HEAD_NORM_UNSPECIFIED;
    case QkNorm::kPerHead:
      return v1::HEAD_NORM_PER_HEAD;
    case QkNorm::kAllHeads:
      return v1::HEAD_NORM_ALL_HEADS;
    case QkNorm::kUnweighted:
      return v1::HEAD_NORM_UNWEIGHTED;
  }
  return v1::HEAD_NORM_UNSPECIFIED;
}

Attention AttentionFromProto(const v1::Attention& proto,
                             Violations& violations) {
  switch (proto.kind_case()) {
    case v1::Attention::kGroupedQuery:
      return GroupedFromProto(proto, violations);
    case v1::Attention::kMultiHeadLatent:
      return LatentFromProto(proto, violations);
    case v1::Attention::kCompressed:
      return CompressedFromProto(proto, violations);
    case v1::Attention::kCross:
      return CrossFromProto(proto, violations);
    case v1::Attention::KIND_NOT_SET:
      break;
  }
  violations.Add("grouped_query",
                 "is required, or multi_head_latent, compressed or cross");
  return GroupedQueryAttention{
      .query_heads = proto.query_head_count(), .kv_heads = 1, .head_size = 1};
}

v1::Attention AttentionToProto(const Attention& attention) {
  v1::Attention proto;
  proto.set_query_head_count(QueryHeads(attention));
  std::visit(WriteAttention{proto}, attention);
  return proto;
}

}  // namespace mansard::model
