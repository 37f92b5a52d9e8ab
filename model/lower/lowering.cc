#include "model/lower/lowering.h"

namespace mansard::model {

OpList Lowering::Run() {
  ops_.reserve(24 * graph_.spec().layer_kinds.size() + 8);
  EmitInput();
  for (size_t i = 0; i < graph_.spec().layer_kinds.size(); ++i) {
    if (graph_.CountOf(i) > 0) EmitLayers(i);
  }
  EmitOutput();
  return std::move(ops_);
}

ElementwiseShape Lowering::HiddenShape() const {
  return {tokens_, hidden_, formats_.hidden};
}

Op& Lowering::Emit(Op op, Part part) {
  op.part = part;
  op.layer_kind = layer_kind_;
  op.repeat = repeat_;
  ops_.push_back(std::move(op));
  return ops_.back();
}

void Lowering::EmitQuantize(Part part, int64_t rows, int64_t columns) {
  const Format input = formats_.precision.activations;
  if (!IsLowPrecision(input)) return;
  Emit(QuantizeOp({rows, columns, formats_.hidden}, input), part);
}

GemmShape Lowering::LinearShape(int64_t m, int64_t n, int64_t k) const {
  return {.m = m,
          .n = n,
          .k = k,
          .input = formats_.precision.activations,
          .weights = formats_.precision.weights,
          .output = formats_.hidden,
          .compute = formats_.compute};
}

void Lowering::EmitLinear(LinearParts parts, int64_t n, int64_t k, bool bias) {
  EmitQuantize(parts.quantize, tokens_, k);
  Emit(GemmOp(LinearShape(tokens_, n, k), bias), parts.gemm);
}

void Lowering::EmitAllReduce(Part part) {
  if (layout_.tensor() == 1) return;
  Emit(AllReduceOp({layout_.tensor(), *layout_.tensor_tier()},
                   ActivationBytes(formats_.hidden, tokens_, hidden_)),
       part);
}

void Lowering::EmitNorm(Part norm, Part residual) {
  if (!fusion_.residual_into_norm) Emit(ResidualOp(HiddenShape()), residual);
  Emit(NormOp(HiddenShape(), fusion_.residual_into_norm, formats_.native),
       norm);
}

void Lowering::EmitInput() {
  Op& gather =
      Emit(EmbeddingOp(HiddenShape(), formats_.native), Part::kEmbedding);
  gather.work.weights *= 1.0 / layout_.tensor();
  if (!graph_.spec().tied_embeddings) {
    gather.held = WeightBytes(formats_.native,
                              layout_.VocabularyPerRank(graph_), hidden_);
  }
  EmitAllReduce(Part::kEmbeddingAllReduce);
  Emit(NormOp(HiddenShape(), false, formats_.native), Part::kInputNorm);
}

void Lowering::EmitLayers(size_t index) {
  const LayerKind& kind = graph_.spec().layer_kinds[index];
  layer_kind_ = static_cast<int>(index);
  const int count = graph_.CountOf(index);
  const bool has_first =
      graph_.spec().layer_kind_indexes.front() == layer_kind_;

  repeat_ = count - (has_first ? 1 : 0);
  if (repeat_ > 0) {
    EmitNorm(Part::kAttentionNorm, Part::kFeedForwardResidual);
  }
  repeat_ = count;
  std::visit([this](const auto& attention) { EmitAttention(attention); },
             kind.attention);
  if (!kind.parallel) {
    EmitAllReduce(Part::kAttentionAllReduce);
    EmitNorm(Part::kFeedForwardNorm, Part::kAttentionResidual);
  }
  std::visit([this](const auto& ffn) { EmitFeedForward(ffn); },
             kind.feed_forward);
  if (kind.parallel) Emit(ResidualOp(HiddenShape()), Part::kParallelSum);
  EmitAllReduce(Part::kFeedForwardAllReduce);
  layer_kind_ = -1;
  repeat_ = 1;
}

void Lowering::EmitOutput() {
  EmitNorm(Part::kFinalNorm, Part::kFeedForwardResidual);
  const int64_t positions = pass_.logit_positions();
  const int64_t vocabulary = layout_.VocabularyPerRank(graph_);
  Emit(GemmOp({.m = positions,
               .n = vocabulary,
               .k = hidden_,
               .input = formats_.hidden,
               .weights = formats_.native,
               .output = formats_.hidden,
               .compute = formats_.head_compute},
              false),
       Part::kHead);
  const int64_t gathered = vocabulary * layout_.tensor();
  if (layout_.tensor() > 1) {
    Emit(AllGatherOp({layout_.tensor(), *layout_.tensor_tier()},
                     ActivationBytes(formats_.hidden, positions, gathered)),
         Part::kLogitsAllGather);
  }
  Emit(SamplingOp({positions, graph_.spec().vocabulary_size, formats_.hidden}),
       Part::kSampling);
  Emit(HostOp({pass_.request_count(), pass_.prefill_tokens()}), Part::kHost);
}

}  // namespace mansard::model
