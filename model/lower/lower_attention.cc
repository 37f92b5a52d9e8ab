#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitAttention(const GroupedQueryAttention& attention) {
  const int query_heads = layout_.QueryHeadsPerRank(attention);
  const int kv_heads = layout_.KvHeadsPerRank(attention);
  const int64_t size = attention.head_size;
  EmitLinear({Part::kQkvProj, Part::kAttentionQuantize},
             (query_heads + 2 * kv_heads) * size, hidden_, attention.qkv_bias);
  const int64_t normed_heads = query_heads + kv_heads;
  if (attention.qk_norm) {
    // Two weight vectors, one for queries and one for keys.
    Op& norm = Emit(NormOp({tokens_ * normed_heads, size, formats_.hidden},
                           false, formats_.native),
                    Part::kQkNorm);
    norm.work.weights *= 2;
    norm.held *= 2;
  }
  Emit(RopeOp({tokens_, normed_heads * size, formats_.hidden}), Part::kRope);
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    EmitForGroup(AttentionOp({.group = pass_.groups()[i],
                              .query_heads = query_heads,
                              .kv_heads = kv_heads,
                              .head_size = attention.head_size,
                              .window = attention.sliding_window,
                              .chunk = attention.chunk,
                              .fused = fusion_.attention,
                              .input = formats_.hidden,
                              .kv_cache = formats_.precision.kv_cache}),
                 i);
  }
  EmitLinear({Part::kOutputProj, Part::kOutputQuantize}, hidden_,
             query_heads * size, attention.output_bias);
}

void Lowering::EmitForGroup(Op op, size_t group) {
  Op& emitted = Emit(std::move(op), Part::kAttention);
  if (pass_.groups().size() > 1) emitted.group = static_cast<int>(group);
}

void Lowering::EmitAttention(const LatentAttention& attention) {
  LatentAttention mine = attention;
  mine.query_heads = layout_.QueryHeadsPerRank(attention);
  const int64_t heads = mine.query_heads;
  const int64_t query_rank = mine.query_lora_rank;
  EmitLinear({Part::kLatentProj, Part::kAttentionQuantize},
             query_rank + mine.kv_lora_rank + mine.rope_head_size, hidden_,
             false);
  int64_t query_width = hidden_;
  if (query_rank != 0) {
    query_width = query_rank;
    Emit(NormOp({tokens_, query_rank, formats_.hidden}, false, formats_.native),
         Part::kQueryLatentNorm);
    EmitQuantize(Part::kQueryQuantize, tokens_, query_rank);
  }
  Emit(NormOp({tokens_, mine.kv_lora_rank, formats_.hidden}, false,
              formats_.native),
       Part::kKvLatentNorm);
  // Without a query rank it reads the latent projection's input.
  Emit(GemmOp(LinearShape(tokens_, heads * mine.key_head_size(), query_width),
              false),
       Part::kQueryProj);
  Emit(RopeOp({tokens_, (heads + 1) * mine.rope_head_size, formats_.hidden}),
       Part::kRope);
  EmitExpansion(mine);
  EmitAbsorbed(mine, Part::kAbsorbQuery, mine.kv_lora_rank,
               mine.nope_head_size);
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    EmitForGroup(LatentAttentionOp({.group = pass_.groups()[i],
                                    .attention = mine,
                                    .fused = fusion_.attention,
                                    .input = formats_.hidden,
                                    .kv_cache = formats_.precision.kv_cache}),
                 i);
  }
  EmitAbsorbed(mine, Part::kAbsorbValue, mine.value_head_size,
               mine.kv_lora_rank);
  EmitLinear({Part::kOutputProj, Part::kOutputQuantize}, hidden_,
             heads * mine.value_head_size, false);
}

int64_t Lowering::TokensOf(Role role, bool with_prior) const {
  int64_t tokens = 0;
  for (const RequestGroup& group : pass_.groups()) {
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
  const bool narrow = IsLowPrecision(formats_.precision.activations);
  EmitQuantize(Part::kKvQuantize, positions, mine.kv_lora_rank);
  if (narrow) ReadLatents(ops_.back(), positions - cached, cached, mine);
  Emit(GemmOp(LinearShape(positions, width, mine.kv_lora_rank), false),
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
  const int64_t tokens = TokensOf(Role::kDecode, false);
  if (tokens == 0) return;
  Op& op = Emit(GemmOp({.m = tokens,
                        .n = n,
                        .k = k,
                        .batch = mine.query_heads,
                        .input = formats_.hidden,
                        .weights = formats_.precision.weights,
                        .output = formats_.hidden,
                        .compute = formats_.head_compute},
                       false),
                part);
  op.held = Bytes::Zero();
  const bool first = part == Part::kAbsorbQuery;
  if (!first || TokensOf(Role::kPrefill, false) > 0) return;
  op.held = WeightBytes(
      formats_.precision.weights,
      mine.query_heads * (mine.nope_head_size + mine.value_head_size),
      mine.kv_lora_rank);
}

}  // namespace mansard::model
