#include <algorithm>

#include "model/ops/op.h"

namespace mansard::model {
namespace {

// Softmax on vector units: scale, maximum, subtract, sum, rescale.
constexpr double kVectorFlopsPerScore = 5;

// Sum of min(first, ..., ceiling) over `count` consecutive integers.
double ClampedSum(double first, double count, double ceiling) {
  const double below = std::clamp(ceiling - first, 0.0, count);
  return below * (2 * first + below - 1) / 2 + (count - below) * ceiling;
}

// Positions before the new tokens that at least one of them sees.
int64_t VisiblePrior(const RequestGroup& group, int64_t window) {
  if (window == 0) return group.prior_tokens;
  return std::min(group.prior_tokens, window - 1);
}

}  // namespace

double CausalPairs(int64_t new_tokens, int64_t prior_tokens, int64_t window) {
  const double q = static_cast<double>(new_tokens);
  const double p = static_cast<double>(prior_tokens);
  if (window == 0) return q * p + q * (q + 1) / 2;
  return ClampedSum(p + 1, q, static_cast<double>(window));
}

// Decode: every new token against the whole context, masked ones included
// (drafted tokens share the query tile): 4 q L operations a head (scores and
// values, 2 each, over head size). KV is read once a sequence, shared by the
// query group and by drafted tokens.
// Prefill: causal pairs only; the cached prefix is read as KV, the new keys and
// values come from the projection as activations. Both write the new KV.
// With a window, positions no query sees are neither read nor counted.
// Source: FlashAttention (arXiv 2205.14135) for the absence of score traffic.
Op AttentionOp(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  const bool decode = group.role == Role::kDecode;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double width = static_cast<double>(shape.head_size);
  const int64_t prior = VisiblePrior(group, shape.window);

  double pairs =
      CausalPairs(group.new_tokens, group.prior_tokens, shape.window);
  double kv_positions = static_cast<double>(prior);
  if (decode) {
    const int64_t seen = shape.window == 0
                             ? group.context()
                             : std::min(group.context(), shape.window);
    pairs = static_cast<double>(group.new_tokens) * static_cast<double>(seen);
    kv_positions = static_cast<double>(prior + group.new_tokens);
  }
  const double scores = requests * pairs * shape.query_heads;

  Op op{.kind = decode ? OpKind::kAttentionDecode : OpKind::kAttentionPrefill,
        .part = Part::kAttention,
        .shape = shape};
  op.work.tensor = Flops::Of(4 * width * scores);
  op.work.vector = Flops::Of(kVectorFlopsPerScore * scores);
  op.work.special = Flops::Of(scores);
  const Bytes cached =
      KvBytesPerTokenPerLayer(shape.kv_heads, shape.head_size, shape.kv_cache);
  op.work.kv_read = requests * kv_positions * cached;
  op.work.kv_write = tokens * cached;
  const Bytes queries =
      ElementBytes(shape.input, tokens * shape.query_heads * width);
  op.work.activations_in = queries;
  op.work.activations_out = queries;
  if (!decode) {
    op.work.activations_in +=
        tokens *
        KvBytesPerTokenPerLayer(shape.kv_heads, shape.head_size, shape.input);
  }
  return op;
}

}  // namespace mansard::model
