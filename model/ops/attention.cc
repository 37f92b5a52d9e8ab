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

// 1 + 2 + ... + n.
double Triangle(double n) { return n * (n + 1) / 2; }

// Sum over the positions 0 .. end - 1 of those they see in their own chunk.
double ChunkPairs(int64_t end, int64_t chunk) {
  const int64_t whole = end / chunk;
  return static_cast<double>(whole) * Triangle(static_cast<double>(chunk)) +
         Triangle(static_cast<double>(end % chunk));
}

// Positions before the new tokens that at least one of them sees.
int64_t VisiblePrior(const AttentionShape& shape) {
  const int64_t prior = shape.group.prior_tokens;
  if (shape.window != 0) return std::min(prior, shape.window - 1);
  if (shape.chunk != 0) return prior % shape.chunk;
  return prior;
}

// Positions that one decoded token sees. In a chunk: of its fullest position,
// so that a longer context is never cheaper.
int64_t SeenByDecode(const AttentionShape& shape) {
  const int64_t bound = shape.window != 0 ? shape.window : shape.chunk;
  return bound == 0 ? shape.group.context()
                    : std::min(shape.group.context(), bound);
}

double Pairs(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  if (group.role == Role::kDecode) {
    return static_cast<double>(group.new_tokens) *
           static_cast<double>(SeenByDecode(shape));
  }
  if (!shape.causal) {
    return static_cast<double>(group.new_tokens) *
           static_cast<double>(group.context());
  }
  return CausalPairs(group.new_tokens, group.prior_tokens, shape.window,
                     shape.chunk);
}

int64_t KvPositionsRead(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  if (group.role == Role::kPrefill) return VisiblePrior(shape);
  if (shape.chunk != 0) {
    return std::max(SeenByDecode(shape), group.new_tokens);
  }
  return VisiblePrior(shape) + group.new_tokens;
}

void AddSoftmax(double scores, Work& work) {
  work.vector = Flops::Of(kVectorFlopsPerScore * scores);
  work.special = Flops::Of(scores);
}

// An unfused kernel writes scores and their exponentials and reads both back:
// of a prompt the whole matrix, whatever the mask hides.
void AddScoreTraffic(const RequestGroup& group, double scores, double heads,
                     Format format, Work& work) {
  const double moved = group.role == Role::kDecode
                           ? scores
                           : heads *
                                 static_cast<double>(group.total_new_tokens()) *
                                 static_cast<double>(group.context());
  work.activations_in += ElementBytes(format, 2 * moved);
  work.activations_out += ElementBytes(format, 2 * moved);
}

OpKind KindOf(const RequestGroup& group) {
  return group.role == Role::kDecode ? OpKind::kAttentionDecode
                                     : OpKind::kAttentionPrefill;
}

}  // namespace

double CausalPairs(int64_t new_tokens, int64_t prior_tokens, int64_t window,
                   int64_t chunk) {
  const double q = static_cast<double>(new_tokens);
  const double p = static_cast<double>(prior_tokens);
  if (window != 0) return ClampedSum(p + 1, q, static_cast<double>(window));
  if (chunk != 0) {
    return ChunkPairs(prior_tokens + new_tokens, chunk) -
           ChunkPairs(prior_tokens, chunk);
  }
  return q * p + Triangle(q);
}

// Decode: every new token against the whole context, masked ones included
// (drafted tokens share the query tile): 4 q L operations a head (scores and
// values, 2 each, over head size). KV is read once a sequence, shared by the
// query group and by drafted tokens.
// Prefill: causal pairs only; the cached prefix is read as KV, the new keys and
// values come from the projection as activations. Both write the new KV.
// With a window or chunk, positions no query sees are neither read nor counted.
// Source: FlashAttention (arXiv 2205.14135) for the absence of score traffic.
Op AttentionOp(const AttentionShape& shape) {
  const RequestGroup& group = shape.group;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double width = static_cast<double>(shape.head_size);
  const double scores = requests * Pairs(shape) * shape.query_heads;
  const double kv_width = static_cast<double>(KvElementsPerToken(
      {.query_heads = shape.query_heads, .head_size = shape.head_size},
      shape.kv_heads));

  Op op{.kind = KindOf(group), .part = Part::kAttention, .shape = shape};
  op.work.tensor = Flops::Of(4 * width * scores);
  op.work.kv_read = ElementBytes(
      shape.kv_cache,
      requests * static_cast<double>(KvPositionsRead(shape)) * kv_width);
  op.work.kv_write = ElementBytes(shape.kv_cache, tokens * kv_width);
  const Bytes queries =
      ElementBytes(shape.input, tokens * shape.query_heads * width);
  op.work.activations_in = queries;
  op.work.activations_out = queries;
  if (group.role == Role::kPrefill) {
    op.work.activations_in += ElementBytes(shape.input, tokens * kv_width);
  }
  AddSoftmax(scores, op.work);
  if (!shape.fused) {
    AddScoreTraffic(group, scores, shape.query_heads, shape.input, op.work);
  }
  return op;
}

// Decode, absorbed: scores over latent and rotated key, values over the latent
// alone: 2 (2 rank + rope) operations a score; one latent vector a position
// serves every head.
// Prefill, expanded: 2 (nope + rope + value) a causal pair; keys and values of
// prefix and new tokens are activations, made by the expansion GEMM, which also
// reads the prefix's latent vectors; the rotated keys of the prefix are read
// here. Source: DeepSeek-V2, arXiv 2405.04434 §2.1.3.
Op LatentAttentionOp(const LatentAttentionShape& shape) {
  const RequestGroup& group = shape.group;
  const LatentAttention& attention = shape.attention;
  const double heads = attention.query_heads;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double context = static_cast<double>(group.context());
  const double cached = static_cast<double>(KvElementsPerToken(attention));
  const double rank = attention.kv_lora_rank;
  const double rope = attention.rope_head_size;

  Op op{.kind = KindOf(group), .part = Part::kAttention, .shape = shape};
  double scores = 0;
  switch (group.role) {
    case Role::kDecode:
      scores = heads * tokens * context;
      op.work.tensor = Flops::Of(2 * (2 * rank + rope) * scores);
      op.work.kv_read =
          ElementBytes(shape.kv_cache, requests * context * cached);
      op.work.activations_in =
          ElementBytes(shape.input, tokens * heads * (rank + rope));
      op.work.activations_out =
          ElementBytes(shape.input, tokens * heads * rank);
      break;
    case Role::kPrefill: {
      scores = heads * requests *
               CausalPairs(group.new_tokens, group.prior_tokens, 0);
      const double key = attention.key_head_size();
      const double value = attention.value_head_size;
      const double prior = static_cast<double>(group.prior_tokens);
      op.work.tensor = Flops::Of(2 * (key + value) * scores);
      op.work.kv_read = ElementBytes(shape.kv_cache, requests * prior * rope);
      op.work.activations_in =
          ElementBytes(shape.input, tokens * heads * key +
                                        requests * context * heads *
                                            (attention.nope_head_size + value) +
                                        tokens * rope);
      op.work.activations_out =
          ElementBytes(shape.input, tokens * heads * value);
      break;
    }
  }
  op.work.kv_write = ElementBytes(shape.kv_cache, tokens * cached);
  AddSoftmax(scores, op.work);
  if (!shape.fused) AddScoreTraffic(group, scores, heads, shape.input, op.work);
  return op;
}

}  // namespace mansard::model
