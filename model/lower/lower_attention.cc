// Attention over keys and values by head: grouped queries, cross-attention.
#include "model/lower/lowering.h"

namespace mansard::model {

Lowering::GroupedWidths Lowering::WidthsOf(
    const GroupedQueryAttention& attention) const {
  const int kv_heads = layout_.KvHeadsPerRank(attention.kv_heads);
  GroupedWidths mine;
  mine.query_heads = layout_.QueryHeadsPerRank(attention);
  mine.kv_heads = attention.shared_kv ? 0 : kv_heads;
  mine.query = int64_t{mine.query_heads} * attention.head_size;
  mine.output = int64_t{mine.query_heads} * attention.value_size();
  mine.kv = int64_t{mine.kv_heads} * attention.head_size;
  if (!attention.value_from_key) {
    mine.kv += int64_t{mine.kv_heads} * attention.value_size();
  }
  return mine;
}

void Lowering::EmitAttention(const GroupedQueryAttention& attention) {
  const GroupedWidths mine = WidthsOf(attention);
  const int64_t gate = attention.output_gate ? mine.output : 0;
  EmitLinear(LinearClass::kAttentionInput,
             {Part::kQkvProj, Part::kAttentionQuantize},
             mine.query + gate + mine.kv, hidden_, attention.qkv_bias);
  EmitQkNorm(Part::kQkNorm, attention.qk_norm, tokens_, mine.query_heads,
             mine.kv_heads, attention.head_size);
  EmitRope(Part::kRope, mine.query_heads + mine.kv_heads,
           attention.head_size - attention.nope_head_size);
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    AttentionShape shape{.group = pass_.groups()[i],
                         .query_heads = mine.query_heads,
                         .kv_heads = layout_.KvHeadsPerRank(attention.kv_heads),
                         .head_size = attention.head_size,
                         .value_head_size = attention.value_head_size,
                         .window = attention.sliding_window,
                         .chunk = attention.chunk,
                         .shared_kv = attention.shared_kv,
                         .with_prompts = pass_.phase() == Phase::kMixed,
                         .fused = fusion_.attention,
                         .input = formats_.hidden,
                         .kv_cache = formats_.precision.kv_cache};
    Op op = AttentionOp(shape);
    if (layout_.context() > 1) {
      shape.group = passes_.whole().groups()[i];
      const double entry = static_cast<double>(
          int64_t{shape.kv_heads} * (shape.head_size + shape.value_size()));
      EmitContextGather(i, entry, attention.sliding_window);
      op = OnContextRank(
          std::move(op), AttentionOp(shape),
          ElementBytes(
              shape.input,
              entry * static_cast<double>(shape.group.total_new_tokens())));
    }
    if (attention.sinks) AddSinks(mine.query_heads, op, i == 0);
    EmitForGroup(std::move(op), Part::kAttention, i);
    EmitContextReduce(i, mine.query_heads, attention.value_size());
  }
  if (attention.output_gate) {
    Emit(GateOp({tokens_, mine.output, formats_.hidden}), Part::kOutputGate);
  }
  EmitLinear(LinearClass::kAttentionOutput,
             {Part::kOutputProj, Part::kOutputQuantize}, hidden_, mine.output,
             attention.output_bias);
}

void Lowering::EmitQkNorm(Part part, QkNorm norm, int64_t rows, int query_heads,
                          int kv_heads, int64_t head_size) {
  const int64_t heads = int64_t{query_heads} + kv_heads;
  const int kinds = (query_heads > 0 ? 1 : 0) + (kv_heads > 0 ? 1 : 0);
  switch (norm) {
    case QkNorm::kNone:
      return;
    case QkNorm::kPerHead: {
      // A weight vector for queries, one for keys.
      const double vectors = kinds * (graph_.spec().norm_bias ? 2 : 1);
      Op& op = Emit(NormOp({rows * heads, head_size, formats_.hidden}, false,
                           formats_.native),
                    part);
      op.work.weights *= vectors;
      op.held *= vectors;
      return;
    }
    case QkNorm::kUnweighted: {
      Op& op = Emit(NormOp({rows * heads, head_size, formats_.hidden}, false,
                           formats_.native),
                    part);
      op.work.weights = op.held = Bytes::Zero();
      return;
    }
    case QkNorm::kAllHeads:
      if (layout_.tensor() > 1) {
        Emit(AllReduceOp(Among(layout_.tensor_group()),
                         ElementBytes(Format::kFp32,
                                      static_cast<double>(rows) * kinds)),
             Part::kQkNormAllReduce);
      }
      Emit(NormOp({rows, heads * head_size, formats_.hidden}, false,
                  formats_.native),
           part);
      return;
  }
}

void Lowering::EmitRope(Part part, int64_t heads, int64_t rotated) {
  if (rotated == 0) return;
  Emit(RopeOp({tokens_, heads * rotated, formats_.hidden}), part);
}

Op& Lowering::EmitForGroup(Op op, Part part, size_t group) {
  Op& emitted = Emit(std::move(op), part);
  if (pass_.groups().size() > 1) emitted.group = static_cast<int>(group);
  return emitted;
}

void Lowering::AddSinks(int query_heads, Op& op, bool held) const {
  const Bytes sinks = ElementBytes(formats_.native, query_heads);
  op.work.weights += sinks;
  if (held) op.held += sinks;
}

void Lowering::EmitAttention(const CrossAttention& attention) {
  const int query_heads = layout_.QueryHeadsPerRank(attention);
  const int kv_heads = layout_.KvHeadsPerRank(attention.kv_heads);
  const int64_t width = int64_t{query_heads} * attention.head_size;
  int64_t encoder_rows = 0;
  for (const RequestGroup& group : pass_.groups()) {
    if (!group.computes_encoder()) continue;
    encoder_rows += group.request_count * group.encoder_tokens;
  }
  EmitLinear(LinearClass::kAttentionInput,
             {Part::kQueryProj, Part::kAttentionQuantize}, width, hidden_,
             false);
  EmitQkNorm(Part::kQkNorm, attention.qk_norm, tokens_, query_heads, 0,
             attention.head_size);
  EmitEncoderKv(attention, kv_heads, encoder_rows);
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    if (pass_.groups()[i].encoder_tokens == 0) continue;
    EmitForGroup(AttentionOp({.group = pass_.groups()[i],
                              .query_heads = query_heads,
                              .kv_heads = kv_heads,
                              .head_size = attention.head_size,
                              .cross = true,
                              .fused = fusion_.attention,
                              .input = formats_.hidden,
                              .kv_cache = formats_.precision.kv_cache}),
                 Part::kAttention, i);
  }
  EmitLinear(LinearClass::kAttentionOutput,
             {Part::kOutputProj, Part::kOutputQuantize}, hidden_, width, false);
}

void Lowering::EmitEncoderKv(const CrossAttention& attention, int kv_heads,
                             int64_t rows) {
  const size_t first = ops_.size();
  const int64_t computed = rows == 0 ? 1 : rows;
  EmitQuantize(Part::kKvQuantize, LinearClass::kAttentionInput, computed,
               hidden_);
  Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, computed,
                          int64_t{2} * kv_heads * attention.head_size, hidden_),
              false),
       Part::kEncoderKvProj);
  EmitQkNorm(Part::kEncoderKeyNorm, attention.qk_norm, computed, 0, kv_heads,
             attention.head_size);
  if (rows > 0) return;
  // Everything is cached: the weights are held all the same, by the queries'.
  Bytes held;
  for (size_t i = first; i < ops_.size(); ++i) held += ops_[i].held;
  ops_.erase(ops_.begin() + static_cast<std::ptrdiff_t>(first), ops_.end());
  ops_.back().held += held;
}

}  // namespace mansard::model
