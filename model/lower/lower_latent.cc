// Latent attention, and the indexer that sparse attention adds to it.
#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitAttention(const LatentAttention& attention) {
  LatentAttention mine = attention;
  mine.query_heads = layout_.QueryHeadsPerRank(attention);
  const int64_t heads = mine.query_heads;
  const int64_t query_rank = mine.query_lora_rank;
  const int64_t top_k = mine.indexer.has_value() ? mine.indexer->top_k : 0;
  EmitLinear(LinearClass::kAttentionInput,
             {Part::kLatentProj, Part::kAttentionQuantize},
             query_rank + mine.kv_lora_rank + mine.rope_head_size, hidden_,
             mine.bias);
  int64_t query_width = hidden_;
  if (query_rank != 0) {
    query_width = query_rank;
    Emit(NormOp({tokens_, query_rank, formats_.hidden}, false, formats_.native),
         Part::kQueryLatentNorm);
    EmitQuantize(Part::kQueryQuantize, LinearClass::kAttentionInput, tokens_,
                 query_rank);
  }
  Emit(NormOp({tokens_, mine.kv_lora_rank, formats_.hidden}, false,
              formats_.native),
       Part::kKvLatentNorm);
  // Without a query rank it reads the latent projection's input.
  Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, tokens_,
                          heads * mine.key_head_size(), query_width),
              false),
       Part::kQueryProj);
  const int rotated = mine.unrotated ? 0 : mine.rope_head_size;
  EmitRope(Part::kRope, heads + 1, rotated);
  if (mine.indexer.has_value()) {
    EmitIndexer(*mine.indexer,
                {.query_width = query_width, .rope_size = rotated});
  }
  if (layout_.context() > 1) {
    for (size_t i = 0; i < pass_.groups().size(); ++i) {
      EmitContextGather(i, mine.kv_lora_rank + mine.rope_head_size, 0);
    }
  }
  if (top_k == 0) EmitExpansion(mine);
  EmitAbsorbed(mine, Part::kAbsorbQuery, mine.kv_lora_rank,
               mine.nope_head_size);
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    LatentAttentionShape shape{.group = pass_.groups()[i],
                               .query_heads = mine.query_heads,
                               .kv_lora_rank = mine.kv_lora_rank,
                               .nope_head_size = mine.nope_head_size,
                               .rope_head_size = mine.rope_head_size,
                               .value_head_size = mine.value_head_size,
                               .top_k = top_k,
                               .fused = fusion_.attention,
                               .input = formats_.hidden,
                               .kv_cache = formats_.precision.kv_cache};
    Op op = LatentAttentionOp(shape);
    if (layout_.context() > 1) {
      shape.group = passes_.whole().groups()[i];
      const RequestGroup& group = shape.group;
      // Keys and values of all positions, expanded on every rank.
      const double expanded =
          static_cast<double>(group.request_count * group.context() * heads) *
              (mine.nope_head_size + mine.value_head_size) +
          static_cast<double>(group.total_new_tokens()) * mine.rope_head_size;
      op = OnContextRank(std::move(op), LatentAttentionOp(shape),
                         ElementBytes(shape.input, expanded));
    }
    EmitForGroup(std::move(op), Part::kAttention, i);
    EmitContextReduce(i, mine.query_heads, mine.kv_lora_rank);
  }
  EmitAbsorbed(mine, Part::kAbsorbValue, mine.value_head_size,
               mine.kv_lora_rank);
  const int64_t output = heads * mine.value_head_size;
  if (mine.output_gate) {
    Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, tokens_, output,
                            hidden_),
                false),
         Part::kOutputGateProj);
    Emit(GateOp({tokens_, output, formats_.hidden}), Part::kOutputGate);
  }
  EmitLinear(LinearClass::kAttentionOutput,
             {Part::kOutputProj, Part::kOutputQuantize}, hidden_, output,
             mine.bias);
}

int64_t Lowering::TokensOf(Role role, bool with_prior) const {
  int64_t tokens = 0;
  for (const RequestGroup& group : passes_.whole().groups()) {
    if (group.role != role) continue;
    tokens +=
        group.request_count * (with_prior ? group.context() : group.new_tokens);
  }
  return tokens;
}

void Lowering::EmitExpansion(const LatentAttention& mine) {
  const int64_t positions = TokensOf(Role::kPrefill, true);
  if (positions == 0) return;
  const int64_t cached = positions - TokensOf(Role::kPrefill, false);
  const int64_t width =
      int64_t{mine.query_heads} * (mine.nope_head_size + mine.value_head_size);
  const bool narrow =
      IsLowPrecision(FormatsOf(LinearClass::kAttentionInput).activations);
  EmitQuantize(Part::kKvQuantize, LinearClass::kAttentionInput, positions,
               mine.kv_lora_rank);
  if (narrow) ReadLatents(ops_.back(), positions - cached, cached, mine);
  Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, positions, width,
                          mine.kv_lora_rank),
              false),
       Part::kKvExpand);
  if (!narrow) ReadLatents(ops_.back(), positions - cached, cached, mine);
}

void Lowering::ReadLatents(Op& op, int64_t computed, int64_t cached,
                           const LatentAttention& mine) const {
  op.work.activations_in =
      ActivationBytes(formats_.hidden, computed, mine.kv_lora_rank);
  op.work.kv_read =
      ElementBytes(formats_.precision.kv_cache,
                   static_cast<double>(cached) * mine.kv_lora_rank);
}

void Lowering::EmitAbsorbed(const LatentAttention& mine, Part part, int64_t n,
                            int64_t k) {
  const bool chosen = mine.indexer.has_value();
  const int64_t tokens = chosen ? tokens_ : TokensOf(Role::kDecode, false);
  if (tokens == 0) return;
  const Format weights = FormatsOf(LinearClass::kAttentionInput).weights;
  Op& op = Emit(GemmOp({.m = tokens,
                        .n = n,
                        .k = k,
                        .batch = mine.query_heads,
                        .input = formats_.hidden,
                        .weights = weights,
                        .output = formats_.hidden,
                        .compute = formats_.head_compute},
                       false),
                part);
  op.held = Bytes::Zero();
  const bool first = part == Part::kAbsorbQuery;
  const bool expanded = !chosen && TokensOf(Role::kPrefill, false) > 0;
  if (!first || expanded) return;
  op.held = WeightBytes(
      weights, mine.query_heads * (mine.nope_head_size + mine.value_head_size),
      mine.kv_lora_rank);
}

void Lowering::EmitIndexer(const SparseIndexer& indexer,
                           const IndexInputs& inputs) {
  if (indexer.heads == 0) return;
  Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, tokens_,
                          int64_t{indexer.heads} * indexer.head_size,
                          inputs.query_width),
              false),
       Part::kIndexQueryProj);
  EmitIndexKeys(indexer, inputs);
  // Where layers compute in the cache's own format, so do the scores.
  const Format kv_cache = formats_.precision.kv_cache;
  const Format compute = FormatsOf(LinearClass::kAttentionInput).compute;
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    const IndexShape shape{
        .group = pass_.groups()[i],
        .heads = indexer.heads,
        .head_size = indexer.head_size,
        .ratio = inputs.pooled == nullptr ? 1 : inputs.pooled->ratio,
        .top_k = indexer.top_k,
        .input = compute == kv_cache ? kv_cache : formats_.hidden,
        .kv_cache = kv_cache};
    EmitForGroup(IndexScoresOp(shape), Part::kIndexScores, i);
    EmitForGroup(SelectOp(shape), Part::kIndexSelect, i);
  }
}

// Keys, or what they are pooled from, and a weight a head in one GEMM.
void Lowering::EmitIndexKeys(const SparseIndexer& indexer,
                             const IndexInputs& inputs) {
  const bool pooled = inputs.pooled != nullptr;
  const int64_t keys = pooled ? PooledWidth(*inputs.pooled, indexer.head_size)
                              : indexer.head_size;
  Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, tokens_,
                          keys + indexer.heads, hidden_),
              false),
       Part::kIndexKeyProj);
  if (pooled) {
    // Pooled keys are normed and rotated where they are pooled.
    EmitRope(Part::kIndexRope, indexer.heads, inputs.rope_size);
    EmitPooling(Part::kIndexPool, *inputs.pooled, indexer.head_size);
    return;
  }
  // A LayerNorm: with a bias.
  Op& norm = Emit(NormOp({tokens_, indexer.head_size, formats_.hidden}, false,
                         formats_.native),
                  Part::kIndexKeyNorm);
  norm.work.weights *= 2;
  norm.held *= 2;
  EmitRope(Part::kIndexRope, int64_t{indexer.heads} + 1, inputs.rope_size);
}

}  // namespace mansard::model
