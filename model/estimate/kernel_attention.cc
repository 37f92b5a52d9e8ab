#include "model/estimate/kernel_ops.h"

namespace mansard::model {
namespace {

int64_t TopK(const std::optional<SparseIndexer>& indexer) {
  return indexer.has_value() ? indexer->top_k : 0;
}

// The op of one group.
struct AttentionBuilder {
  const RequestGroup& group;
  const PassFormats& formats;
  bool full;
  bool fused;

  Op operator()(const GroupedQueryAttention& grouped) const {
    return AttentionOp({.group = group,
                        .query_heads = grouped.query_heads,
                        .kv_heads = grouped.kv_heads,
                        .head_size = grouped.head_size,
                        .value_head_size = grouped.value_head_size,
                        .window = grouped.sliding_window,
                        .chunk = grouped.chunk,
                        .shared_kv = grouped.shared_kv,
                        .causal = !full,
                        .fused = fused,
                        .input = formats.hidden,
                        .kv_cache = formats.precision.kv_cache});
  }
  Op operator()(const LatentAttention& latent) const {
    return LatentAttentionOp({.group = group,
                              .query_heads = latent.query_heads,
                              .kv_lora_rank = latent.kv_lora_rank,
                              .nope_head_size = latent.nope_head_size,
                              .rope_head_size = latent.rope_head_size,
                              .value_head_size = latent.value_head_size,
                              .top_k = TopK(latent.indexer),
                              .fused = fused,
                              .input = formats.hidden,
                              .kv_cache = formats.precision.kv_cache});
  }
  Op operator()(const CompressedAttention& compressed) const {
    return CompressedAttentionOp({.group = group,
                                  .query_heads = compressed.query_heads,
                                  .head_size = compressed.head_size,
                                  .window = compressed.sliding_window,
                                  .ratio = compressed.ratio,
                                  .top_k = TopK(compressed.indexer),
                                  .fused = fused,
                                  .input = formats.hidden,
                                  .kv_cache = formats.precision.kv_cache});
  }
  // Refused by the checks; over no positions it is no work.
  Op operator()(const CrossAttention& cross) const {
    return AttentionOp({.group = group,
                        .query_heads = cross.query_heads,
                        .kv_heads = cross.kv_heads,
                        .head_size = cross.head_size,
                        .cross = true});
  }
};

}  // namespace

OpList AttentionKernelOps(const AttentionKernel& kernel,
                          const PassFormats& formats, bool unfused) {
  OpList ops;
  const auto& groups = kernel.pass.groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    ops.push_back(
        std::visit(AttentionBuilder{groups[i], formats, kernel.full, !unfused},
                   kernel.attention));
    if (groups.size() > 1) ops.back().group = static_cast<int>(i);
  }
  return ops;
}

}  // namespace mansard::model
