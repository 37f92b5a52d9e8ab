#include "model/ops/op.h"

namespace mansard::model {
namespace {

double Elements(const ElementwiseShape& shape) {
  return static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
}

// Reads `reads` and writes `writes` matrices of the shape; `vector` operations
// an element, approximate.
Op Elementwise(OpKind kind, Part part, const ElementwiseShape& shape,
               double reads, double writes, double vector) {
  const double count = Elements(shape);
  Op op{.kind = kind, .part = part, .shape = shape};
  op.work.vector = Flops::Of(vector * count);
  op.work.activations_in = ElementBytes(shape.format, reads * count);
  op.work.activations_out = ElementBytes(shape.format, writes * count);
  return op;
}

}  // namespace

// Square, sum, scale, weigh; and the residual add.
Op NormOp(const ElementwiseShape& shape, bool with_residual,
          Format weight_format) {
  const double matrices = with_residual ? 2 : 1;
  Op op = Elementwise(OpKind::kNorm, Part::kAttentionNorm, shape, matrices,
                      matrices, with_residual ? 5 : 4);
  op.work.special = Flops::Of(static_cast<double>(shape.rows));  // rsqrt
  op.work.weights =
      ElementBytes(weight_format, static_cast<double>(shape.columns));
  op.held = op.work.weights;
  return op;
}

Op NormThenAddOp(const ElementwiseShape& shape, Format weight_format) {
  Op op = Elementwise(OpKind::kNorm, Part::kAttentionPostNorm, shape, 2, 1, 5);
  op.work.special = Flops::Of(static_cast<double>(shape.rows));  // rsqrt
  op.work.weights =
      ElementBytes(weight_format, static_cast<double>(shape.columns));
  op.held = op.work.weights;
  return op;
}

// Two multiplies and an add for each element.
Op RopeOp(const ElementwiseShape& shape) {
  return Elementwise(OpKind::kRope, Part::kRope, shape, 1, 1, 3);
}

// SiLU (exp, add, divide, multiply), and the gate's product.
Op ActivationOp(const ElementwiseShape& shape, bool gated) {
  Op op = Elementwise(OpKind::kActivation, Part::kActivation, shape,
                      gated ? 2 : 1, 1, gated ? 4 : 3);
  op.work.special = Flops::Of(Elements(shape));
  return op;
}

Op ResidualOp(const ElementwiseShape& shape) {
  return Elementwise(OpKind::kResidual, Part::kAttentionResidual, shape, 2, 1,
                     1);
}

// Sigmoid (exp, add, divide) and the product.
Op GateOp(const ElementwiseShape& shape) {
  Op op = Elementwise(OpKind::kGate, Part::kOutputGate, shape, 2, 1, 3);
  op.work.special = Flops::Of(Elements(shape));
  return op;
}

// The sigmoid once a row, a product an element.
Op RowGateOp(const ElementwiseShape& shape) {
  Op op = Elementwise(OpKind::kGate, Part::kSharedGate, shape, 1, 1, 1);
  const double rows = static_cast<double>(shape.rows);
  op.work.vector += Flops::Of(2 * rows);
  op.work.special = Flops::Of(rows);
  op.work.activations_in += ElementBytes(shape.format, rows);
  return op;
}

// No model's own op: what a single kernel may be.
Op AddOp(const ElementwiseShape& shape) {
  return Elementwise(OpKind::kAdd, Part::kAttentionResidual, shape, 1, 1, 1);
}

// Absolute maximum, scale, round.
Op QuantizeOp(const ElementwiseShape& shape, Format output) {
  Op op =
      Elementwise(OpKind::kQuantize, Part::kAttentionQuantize, shape, 1, 0, 3);
  op.work.activations_out = ActivationBytes(output, shape.rows, shape.columns);
  std::get<ElementwiseShape>(op.shape).made = output;
  return op;
}

// Scale and convert.
Op DequantizeOp(const ElementwiseShape& shape, Format input) {
  Op op = Elementwise(OpKind::kDequantize, Part::kAttentionQuantize, shape, 0,
                      1, 2);
  op.work.activations_in = ActivationBytes(input, shape.rows, shape.columns);
  return op;
}

// Softmax over the experts, and the largest few.
Op RoutingOp(const ElementwiseShape& shape) {
  Op op = Elementwise(OpKind::kRouting, Part::kTopK, shape, 1, 0, 4);
  op.work.special = Flops::Of(Elements(shape));
  return op;
}

// Weigh and add each expert's output.
Op CombineOp(const ElementwiseShape& shape, int per_token) {
  return Elementwise(OpKind::kCombine, Part::kCombine, shape, per_token, 1,
                     2.0 * per_token);
}

// Rows of the table, not all of it. The table is cold: its rows are weights.
Op EmbeddingOp(const ElementwiseShape& shape, Format table) {
  Op op = Elementwise(OpKind::kEmbedding, Part::kEmbedding, shape, 0, 1, 0);
  op.work.weights = WeightBytes(table, shape.rows, shape.columns);
  return op;
}

Op AddedEmbeddingOp(const ElementwiseShape& shape, Format table) {
  Op op =
      Elementwise(OpKind::kEmbedding, Part::kPositionEmbedding, shape, 1, 1, 1);
  op.work.weights = ElementBytes(table, Elements(shape));
  return op;
}

// Each logit once: scale and compare.
Op SamplingOp(const ElementwiseShape& shape) {
  return Elementwise(OpKind::kSampling, Part::kSampling, shape, 1, 0, 2);
}

Op HostOp(const HostShape& shape) {
  return Op{.kind = OpKind::kHost, .part = Part::kHost, .shape = shape};
}

}  // namespace mansard::model
