#include "model/lower/lowering.h"

#include <utility>

namespace mansard::model {

OpList Lowering::Run(OpList buffer) {
  ops_ = std::move(buffer);
  ops_.clear();
  ops_.reserve(24 * graph_.spec().layer_kinds.size() + 16);
  repeat_ = RepeatsBefore();
  if (repeat_ > 0) EmitInput();
  for (size_t i = 0; i < graph_.spec().layer_kinds.size(); ++i) {
    if (RepeatsOf(i) > 0) EmitLayers(i);
  }
  if (layout_.pipeline() > 1) EmitTransfers();
  repeat_ = RepeatsAfter();
  if (repeat_ > 0) EmitOutput();
  repeat_ = 1;
  if (stages_.elsewhere > 0) {
    Emit(HostOp({pass_.request_count(), passes_.whole().prefill_tokens()}),
         Part::kHost);
  }
  return std::move(ops_);
}

ElementwiseShape Lowering::HiddenShape() const {
  return {tokens_, hidden_, formats_.hidden};
}

Op& Lowering::Emit(Op op, Part part) {
  op.part = part;
  op.layer_kind = layer_kind_;
  op.draft = draft_;
  op.repeat = repeat_;
  if (pending_ != Bytes::Zero()) {
    op.held += pending_ / repeat_;
    pending_ = Bytes::Zero();
  }
  ops_.push_back(std::move(op));
  return ops_.back();
}

void Lowering::Hold(Bytes weights) {
  if (ops_.empty()) {
    pending_ += weights;
  } else {
    ops_.front().held += weights / ops_.front().repeat;
  }
}

int Lowering::RepeatsOf(size_t kind) const {
  const int all = graph_.CountOf(kind);
  if (layout_.pipeline() == 1) return all * stages_.there;
  const int in_stage = layout_.CountInStage(graph_, kind, stages_.stage);
  return in_stage * stages_.there + (all - in_stage) * stages_.elsewhere;
}

void Lowering::EmitQuantize(Part part, LinearClass linear, int64_t rows,
                            int64_t columns) {
  const Format input = FormatsOf(linear).activations;
  if (!IsLowPrecision(input)) return;
  Emit(QuantizeOp({rows, columns, formats_.hidden}, input), part);
}

void Lowering::EmitInputQuantize(Part part, LinearClass linear, Format& input) {
  const Format wanted = FormatsOf(linear).activations;
  if (wanted == input || !IsLowPrecision(wanted)) return;
  EmitQuantize(part, linear, tokens_, hidden_);
  input = wanted;
}

GemmShape Lowering::LinearShape(LinearClass linear, int64_t m, int64_t n,
                                int64_t k) const {
  const GemmFormats& formats = FormatsOf(linear);
  return {.m = m,
          .n = n,
          .k = k,
          .input = formats.activations,
          .weights = formats.weights,
          .output = formats_.hidden,
          .compute = formats.compute};
}

void Lowering::EmitLinear(LinearClass linear, LinearParts parts, int64_t n,
                          int64_t k, bool bias) {
  EmitQuantize(parts.quantize, linear, tokens_, k);
  Emit(GemmOp(LinearShape(linear, tokens_, n, k), bias), parts.gemm);
}

Op Lowering::WideGemm(int64_t m, int64_t n, int64_t k, bool bias) const {
  return GemmOp({.m = m,
                 .n = n,
                 .k = k,
                 .input = formats_.hidden,
                 .weights = formats_.native,
                 .output = formats_.hidden,
                 .compute = formats_.head_compute},
                bias);
}

void Lowering::EmitAllReduce(Part part, int64_t columns) {
  if (layout_.tensor() == 1) return;
  Emit(AllReduceOp(Among(layout_.tensor_group()),
                   ActivationBytes(formats_.hidden, tokens_, columns)),
       part);
}

// A LayerNorm: the mean is taken off, the bias is added.
Op Lowering::WithNormBias(Op norm) const {
  if (!graph_.spec().norm_bias) return norm;
  const auto& shape = std::get<ElementwiseShape>(norm.shape);
  norm.work.vector += Flops::Of(2 * static_cast<double>(shape.rows) *
                                static_cast<double>(shape.columns));
  norm.work.weights *= 2;
  norm.held *= 2;
  return norm;
}

void Lowering::EmitPlainNorm(Part norm) {
  Emit(WithNormBias(NormOp(HiddenShape(), false, formats_.native)), norm);
}

void Lowering::EmitNorm(Part norm, Part residual) {
  if (!fusion_.residual_into_norm) Emit(ResidualOp(HiddenShape()), residual);
  Emit(WithNormBias(
           NormOp(HiddenShape(), fusion_.residual_into_norm, formats_.native)),
       norm);
}

void Lowering::EmitNormThenAdd(Part norm, Part residual) {
  if (fusion_.residual_into_norm) {
    Emit(WithNormBias(NormThenAddOp(HiddenShape(), formats_.native)), norm);
    return;
  }
  EmitPlainNorm(norm);
  Emit(ResidualOp(HiddenShape()), residual);
}

}  // namespace mansard::model
