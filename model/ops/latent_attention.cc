#include "model/ops/op.h"
#include "model/ops/positions.h"

namespace mansard::model {
namespace {

// On latent vectors: scores over latent and rotated key, values over the latent
// alone, 2 (2 rank + rope) operations a score; one latent vector a position
// serves every head. An indexer leaves each token `top_k` positions, as if no
// two tokens of a request chose the same. Latent vectors that this pass made
// are activations in a prompt, cached ones in a decode.
void AddAbsorbed(const LatentAttentionShape& shape, double cached, Op& op) {
  const RequestGroup& group = shape.group;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double heads = shape.query_heads;
  const double rank = shape.kv_lora_rank;
  const double rope = shape.rope_head_size;
  const double scores = heads * requests * SelectedPairs(group, 1, shape.top_k);
  const bool prompt = group.role == Role::kPrefill;
  const int64_t held = prompt ? group.prior_tokens : group.context();
  const double read =
      requests * static_cast<double>(EntriesRead(group, held, shape.top_k));
  op.work.tensor = Flops::Of(2 * (2 * rank + rope) * scores);
  op.work.kv_read = ElementBytes(shape.kv_cache, read * cached);
  op.work.activations_in =
      ElementBytes(shape.input, tokens * heads * (rank + rope) +
                                    (prompt ? tokens * cached : 0));
  op.work.activations_out = ElementBytes(shape.input, tokens * heads * rank);
  AddSoftmax(scores, op.work);
  if (!shape.fused) AddScoreTraffic(scores, shape.input, op.work);
}

// On expanded keys and values: 2 (nope + rope + value) a causal pair; those of
// prefix and new tokens are activations, made by the expansion GEMM, which also
// reads the prefix's latent vectors; the rotated keys of the prefix are read
// here.
void AddExpanded(const LatentAttentionShape& shape, Op& op) {
  const RequestGroup& group = shape.group;
  const double requests = static_cast<double>(group.request_count);
  const double tokens = static_cast<double>(group.total_new_tokens());
  const double context = static_cast<double>(group.context());
  const double prior = static_cast<double>(group.prior_tokens);
  const double heads = shape.query_heads;
  const double key = shape.key_head_size();
  const double value = shape.value_head_size;
  const double rope = shape.rope_head_size;
  const double scores =
      heads * requests * CausalPairs(group.new_tokens, group.prior_tokens, 0);
  op.work.tensor = Flops::Of(2 * (key + value) * scores);
  op.work.kv_read = ElementBytes(shape.kv_cache, requests * prior * rope);
  op.work.activations_in =
      ElementBytes(shape.input, tokens * heads * key +
                                    requests * context * heads *
                                        (shape.nope_head_size + value) +
                                    tokens * rope);
  op.work.activations_out = ElementBytes(shape.input, tokens * heads * value);
  AddSoftmax(scores, op.work);
  if (!shape.fused) {
    AddScoreTraffic(heads * tokens * context, shape.input, op.work);
  }
}

}  // namespace

// Source: DeepSeek-V2, arXiv 2405.04434 §2.1.3; DeepSeek-V3.2-Exp report §2.1
// for the indexer.
Op LatentAttentionOp(const LatentAttentionShape& shape) {
  const RequestGroup& group = shape.group;
  const double cached = static_cast<double>(KvElementsPerEntry(
      LatentAttention{.kv_lora_rank = shape.kv_lora_rank,
                      .rope_head_size = shape.rope_head_size}));
  Op op{.kind = AttentionKind(group), .part = Part::kAttention, .shape = shape};
  if (shape.absorbed()) {
    AddAbsorbed(shape, cached, op);
  } else {
    AddExpanded(shape, op);
  }
  op.work.kv_write = ElementBytes(
      shape.kv_cache, static_cast<double>(group.total_new_tokens()) * cached);
  return op;
}

}  // namespace mansard::model
