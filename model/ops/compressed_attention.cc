#include "model/ops/op.h"
#include "model/ops/positions.h"

namespace mansard::model {
namespace {

// Softmax over the pooled positions: bias, maximum, subtract, weigh, sum.
constexpr double kVectorFlopsPerPooled = 5;

// Entries of the cache that one request's tokens read, and entries that its
// prompt makes in this pass.
struct EntryCounts {
  double read = 0;
  double made = 0;
};

EntryCounts EntriesOf(const CompressedAttentionShape& shape) {
  if (shape.ratio == 0) return {};
  const RequestGroup& group = shape.group;
  const int64_t prior = PriorEntries(group, shape.ratio);
  const int64_t all = Entries(group, shape.ratio);
  switch (group.role) {
    case Role::kPrefill:
      return {static_cast<double>(EntriesRead(group, prior, shape.top_k)),
              static_cast<double>(all - prior)};
    case Role::kDecode:
      return {static_cast<double>(EntriesRead(group, all, shape.top_k)), 0};
  }
  return {};
}

}  // namespace

// Each token over its window of single positions and over the entries complete
// before it, or the `top_k` that an indexer chose: 4 d operations a score. One
// head is key and value at once, read once for all query heads. Decode, prefill
// and masks as for AttentionOp; the entries of this pass are written by the
// pooling. Source: DeepSeek-V4 report §2.3.
Op CompressedAttentionOp(const CompressedAttentionShape& shape) {
  const RequestGroup& group = shape.group;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double size = shape.head_size;
  const bool prompt = group.role == Role::kPrefill;
  double pairs = PositionPairs(group, shape.window, 0);
  if (shape.ratio != 0) pairs += SelectedPairs(group, shape.ratio, shape.top_k);
  const double scores = shape.query_heads * requests * pairs;
  const EntryCounts entries = EntriesOf(shape);
  const double positions = static_cast<double>(
      VisiblePrior(group, shape.window, 0) + (prompt ? 0 : group.new_tokens));

  Op op{.kind = AttentionKind(group), .part = Part::kAttention, .shape = shape};
  op.work.tensor = Flops::Of(4 * size * scores);
  op.work.kv_read = ElementBytes(shape.kv_cache,
                                 requests * (positions + entries.read) * size);
  op.work.kv_write = ElementBytes(shape.kv_cache, tokens * size);
  const double queries = tokens * shape.query_heads * size;
  op.work.activations_in = ElementBytes(
      shape.input,
      queries + (prompt ? (tokens + requests * entries.made) * size : 0));
  op.work.activations_out = ElementBytes(shape.input, queries);
  AddSoftmax(scores, op.work);
  if (!shape.fused) AddScoreTraffic(scores, shape.input, op.work);
  return op;
}

// Every projected value and gate is pooled exactly once: an entry takes half
// the channels of the positions before its own where entries overlap. A decode
// keeps them until the entry is complete, written and read once each; what a
// prompt keeps of its last few positions is not counted. The position bias and
// the entry's norm are read whole.
Op CompressOp(const ElementwiseShape& shape, const Pooling& pooling) {
  const double projected =
      static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
  Op op{.kind = OpKind::kCompress, .part = Part::kCompressPool, .shape = shape};
  op.work.vector = Flops::Of(kVectorFlopsPerPooled * projected / 2);
  op.work.special = Flops::Of(projected / 2);  // One for each gate.
  op.work.activations_in = ElementBytes(shape.format, projected);
  const Bytes kept =
      ElementBytes(pooling.state, static_cast<double>(pooling.decoded_rows) *
                                      static_cast<double>(shape.columns));
  op.work.kv_read = kept;
  op.work.kv_write = kept + ElementBytes(pooling.kv_cache,
                                         pooling.entries * pooling.entry_size);
  op.work.weights = ElementBytes(
      pooling.weights,
      1.0 * pooling.ratio * (static_cast<double>(shape.columns) / 2) +
          pooling.entry_size);
  op.held = op.work.weights;
  return op;
}

}  // namespace mansard::model
