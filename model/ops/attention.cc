#include <algorithm>

#include "model/ops/op.h"
#include "model/ops/positions.h"

namespace mansard::model {
namespace {

// Scores of one request and head.
double Pairs(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  if (shape.cross) {
    return static_cast<double>(group.new_tokens) *
           static_cast<double>(group.encoder_tokens);
  }
  if (group.role == Role::kPrefill && !shape.causal) {
    return static_cast<double>(group.new_tokens) *
           static_cast<double>(group.context());
  }
  return PositionPairs(group, shape.window, shape.chunk);
}

// The same as an unfused kernel holds them: of a prompt the whole matrix,
// whatever the mask hides.
double UnfusedPairs(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  if (shape.cross || group.role == Role::kDecode) return Pairs(shape);
  return static_cast<double>(group.new_tokens) *
         static_cast<double>(group.context());
}

// Cached positions that one request reads.
int64_t PositionsRead(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  if (shape.cross) {
    return group.computes_encoder() ? 0 : group.encoder_tokens;
  }
  const int64_t prior = VisiblePrior(group, shape.window, shape.chunk);
  switch (group.role) {
    case Role::kPrefill:
      return shape.shared_kv ? prior + group.new_tokens : prior;
    case Role::kDecode:
      return shape.chunk == 0
                 ? prior + group.new_tokens
                 : std::max(SeenByDecode(group, shape.window, shape.chunk),
                            group.new_tokens);
  }
  return prior;
}

// Positions of one request whose keys and values this pass makes.
int64_t PositionsMade(const AttentionShape& shape) {
  if (shape.shared_kv) return 0;
  if (!shape.cross) return shape.group.new_tokens;
  return shape.group.computes_encoder() ? shape.group.encoder_tokens : 0;
}

}  // namespace

// Decode: every new token against the whole context, masked ones included
// (drafted tokens share the query tile): 2 (key + value) q L operations a head,
// 4 q L d where keys are as wide as values. KV is read once a sequence, shared
// by the query group and by drafted tokens.
// Prefill: causal pairs only; the cached prefix is read as KV, the new keys and
// values come from the projection as activations. Both write the new KV.
// With a window or chunk, positions no query sees are neither read nor counted.
// Another layer's keys and values are read from its cache, new ones included,
// and not written. An encoder's are all seen by every token; the pass that
// makes them takes them as activations and writes them.
// Source: FlashAttention (arXiv 2205.14135) for the absence of score traffic.
Op AttentionOp(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double key = shape.head_size;
  const double value = shape.value_size();
  const double scores = requests * Pairs(shape) * shape.query_heads;
  const double kv_width = static_cast<double>(KvElementsPerEntry(
      GroupedQueryAttention{.head_size = shape.head_size,
                            .value_head_size = shape.value_head_size},
      shape.kv_heads));
  const double made =
      requests * static_cast<double>(PositionsMade(shape)) * kv_width;

  Op op{.kind = AttentionKind(group), .part = Part::kAttention, .shape = shape};
  op.work.tensor = Flops::Of(2 * (key + value) * scores);
  op.work.kv_read = ElementBytes(
      shape.kv_cache,
      requests * static_cast<double>(PositionsRead(shape)) * kv_width);
  op.work.kv_write = ElementBytes(shape.kv_cache, made);
  op.work.activations_in =
      ElementBytes(shape.input, tokens * shape.query_heads * key);
  op.work.activations_out =
      ElementBytes(shape.input, tokens * shape.query_heads * value);
  if (group.role == Role::kPrefill) {
    op.work.activations_in += ElementBytes(shape.input, made);
  }
  AddSoftmax(scores, op.work);
  if (!shape.fused) {
    AddScoreTraffic(requests * UnfusedPairs(shape) * shape.query_heads,
                    shape.input, op.work);
  }
  return op;
}

}  // namespace mansard::model
