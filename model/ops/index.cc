#include "model/ops/op.h"
#include "model/ops/positions.h"

namespace mansard::model {
namespace {

constexpr Format kScoreFormat = Format::kFp32;
constexpr double kBytesPerIndex = 4;
// ReLU, the head's weight, the sum over heads.
constexpr double kVectorFlopsPerProduct = 3;
// A radix selection: convert, compare, count, place.
constexpr double kVectorFlopsPerScore = 4;

// Scores of all requests: of every key that a token sees, before the choice.
double Scores(const IndexShape& shape) {
  return static_cast<double>(shape.group.request_count) *
         SelectedPairs(shape.group, shape.ratio, 0);
}

}  // namespace

// 2 size operations a head and pair on the tensor cores; heads are weighed and
// summed into one score a pair, which is written. Keys are read once a
// sequence, those of a prompt's own tokens as activations. Keys of single
// positions are written here, pooled ones by the pooling. The rotation of
// queries and keys before they are stored narrow is part of making them.
// Source: DeepSeek-V3.2-Exp report §2.1 and the kernels published with it.
Op IndexScoresOp(const IndexShape& shape) {
  const RequestGroup& group = shape.group;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double size = shape.head_size;
  const double scores = Scores(shape);
  const int64_t prior = PriorEntries(group, shape.ratio);
  const int64_t all = Entries(group, shape.ratio);
  const bool prompt = group.role == Role::kPrefill;

  Op op{
      .kind = OpKind::kIndexScores, .part = Part::kIndexScores, .shape = shape};
  op.work.tensor = Flops::Of(2 * size * shape.heads * scores);
  op.work.vector = Flops::Of(kVectorFlopsPerProduct * shape.heads * scores);
  op.work.kv_read =
      ElementBytes(shape.kv_cache,
                   requests * static_cast<double>(prompt ? prior : all) * size);
  if (shape.ratio == 1) {
    op.work.kv_write = ElementBytes(shape.kv_cache, tokens * size);
  }
  const double made =
      prompt ? requests * static_cast<double>(all - prior) * size : 0;
  // Queries, and a weight for each head.
  op.work.activations_in =
      ElementBytes(shape.input, tokens * shape.heads * (size + 1) + made);
  op.work.activations_out = ElementBytes(kScoreFormat, scores);
  return op;
}

// Reads every score once and writes the positions of the chosen ones.
Op SelectOp(const IndexShape& shape) {
  const double scores = Scores(shape);
  const double chosen = static_cast<double>(shape.group.request_count) *
                        SelectedPairs(shape.group, shape.ratio, shape.top_k);
  Op op{.kind = OpKind::kSelect, .part = Part::kIndexSelect, .shape = shape};
  op.work.vector = Flops::Of(kVectorFlopsPerScore * scores);
  op.work.activations_in = ElementBytes(kScoreFormat, scores);
  op.work.activations_out = Bytes::Of(kBytesPerIndex * chosen);
  return op;
}

}  // namespace mansard::model
