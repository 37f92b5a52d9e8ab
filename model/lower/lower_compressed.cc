// Compressed attention: a window of single positions, and pooled entries.
#include "model/lower/lowering.h"

namespace mansard::model {

void Lowering::EmitAttention(const CompressedAttention& attention) {
  const int heads = layout_.QueryHeadsPerRank(attention);
  const int64_t size = attention.head_size;
  const int64_t query_rank = attention.query_lora_rank;
  EmitLinear(LinearClass::kAttentionInput,
             {Part::kLatentProj, Part::kAttentionQuantize}, query_rank + size,
             hidden_, false);
  Emit(NormOp({tokens_, query_rank, formats_.hidden}, false, formats_.native),
       Part::kQueryLatentNorm);
  EmitQuantize(Part::kQueryQuantize, LinearClass::kAttentionInput, tokens_,
               query_rank);
  Emit(NormOp({tokens_, size, formats_.hidden}, false, formats_.native),
       Part::kKvLatentNorm);
  Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, tokens_, heads * size,
                          query_rank),
              false),
       Part::kQueryProj);
  EmitQkNorm(Part::kQkNorm, QkNorm::kUnweighted, tokens_, heads, 0, size);
  EmitRope(Part::kRope, int64_t{heads} + 1, attention.rope_head_size);
  if (attention.ratio != 0) {
    Emit(GemmOp(LinearShape(LinearClass::kAttentionInput, tokens_,
                            PooledWidth(attention, size), hidden_),
                false),
         Part::kCompressProj);
    EmitPooling(Part::kCompressPool, attention, attention.head_size);
    if (attention.indexer.has_value()) {
      EmitIndexer(*attention.indexer, {.query_width = query_rank,
                                       .rope_size = attention.rope_head_size,
                                       .pooled = &attention});
    }
  }
  for (size_t i = 0; i < pass_.groups().size(); ++i) {
    Op op = CompressedAttentionOp(
        {.group = pass_.groups()[i],
         .query_heads = heads,
         .head_size = attention.head_size,
         .window = attention.sliding_window,
         .ratio = attention.ratio,
         .top_k = attention.indexer.has_value() ? attention.indexer->top_k : 0,
         .fused = fusion_.attention,
         .input = formats_.hidden,
         .kv_cache = formats_.precision.kv_cache});
    AddSinks(heads, op, i == 0);
    EmitForGroup(std::move(op), Part::kAttention, i);
  }
  EmitRope(Part::kOutputRope, heads, attention.rope_head_size);
  EmitGroupedOutput(attention, heads);
}

int64_t Lowering::PooledWidth(const CompressedAttention& attention,
                              int64_t entry_size) {
  return 2 * (attention.overlap ? 2 : 1) * entry_size;
}

void Lowering::EmitPooling(Part part, const CompressedAttention& attention,
                           int entry_size) {
  Pooling pooling{.decoded_rows = TokensOf(Role::kDecode, false),
                  .entry_size = entry_size,
                  .ratio = attention.ratio,
                  .weights = formats_.native,
                  .state = formats_.precision.state,
                  .kv_cache = formats_.precision.kv_cache};
  for (const RequestGroup& group : pass_.groups()) {
    pooling.entries += EntriesMade(group, attention.ratio);
  }
  Emit(
      CompressOp({tokens_, PooledWidth(attention, entry_size), formats_.hidden},
                 pooling),
      part);
}

void Lowering::EmitGroupedOutput(const CompressedAttention& attention,
                                 int64_t heads) {
  const int64_t groups = attention.output_groups / layout_.tensor();
  const int64_t inputs = heads * attention.head_size;
  EmitQuantize(Part::kOutputDownQuantize, LinearClass::kAttentionOutput,
               tokens_, inputs);
  GemmShape down = LinearShape(LinearClass::kAttentionOutput, tokens_,
                               attention.output_lora_rank, inputs / groups);
  down.batch = groups;
  Emit(GemmOp(down, false), Part::kOutputDownProj);
  EmitLinear(LinearClass::kAttentionOutput,
             {Part::kOutputProj, Part::kOutputQuantize}, hidden_,
             groups * attention.output_lora_rank, false);
}

}  // namespace mansard::model
