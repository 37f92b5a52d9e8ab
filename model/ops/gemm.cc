#include "model/ops/op.h"

namespace mansard::model {
namespace {

// A weight that is stored narrower than its input is widened once at least:
// scale and convert. Vector work, approximate.
constexpr double kWidenFlopsPerWeight = 2;

Flops WidenWork(Format weights, Format input, double count) {
  const bool widened =
      TraitsOf(weights).element_bits < TraitsOf(input).element_bits;
  return Flops::Of(widened ? kWidenFlopsPerWeight * count : 0);
}

// ActivationBytes of a number of rows that may be fractional: a tensor's scale
// counts once, a row's with each row.
Bytes RowBytes(Format format, double rows, int64_t columns) {
  const Bytes first = ActivationBytes(format, 1, columns);
  const Bytes another = ActivationBytes(format, 2, columns) - first;
  return first + (rows - 1) * another;
}

}  // namespace

// 2mnk operations; weights with scales, input and output once each at their
// own widths. A bias is n more elements in the output's format and one add per
// output. Source: definition.
Op GemmOp(const GemmShape& shape, bool bias) {
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double batch = static_cast<double>(shape.batch);
  Op op{.kind = OpKind::kGemm, .part = Part::kQkvProj, .shape = shape};
  op.work.tensor = Flops::Of(2 * batch * m * n * k);
  op.work.vector = WidenWork(shape.weights, shape.input, batch * n * k);
  op.work.weights = batch * WeightBytes(shape.weights, shape.n, shape.k);
  if (bias) {
    op.work.vector += Flops::Of(batch * m * n);
    op.work.weights += batch * ElementBytes(shape.output, n);
  }
  op.work.activations_in =
      batch * ActivationBytes(shape.input, shape.m, shape.k);
  op.work.activations_out =
      batch * ActivationBytes(shape.output, shape.m, shape.n);
  op.held = op.work.weights;
  return op;
}

// 2 rows n k operations; the weights of the distinct experts alone are read,
// and their biases, n elements each in the output's format.
Op GroupedGemmOp(const GroupedGemmShape& shape, double input_rows, bool bias) {
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  Bytes expert = WeightBytes(shape.weights, shape.n, shape.k);
  if (bias) expert += ElementBytes(shape.output, n);
  Op op{.kind = OpKind::kGroupedGemm, .part = Part::kExpertUp, .shape = shape};
  op.work.tensor = Flops::Of(2 * shape.rows * n * k);
  op.work.vector =
      WidenWork(shape.weights, shape.input, shape.distinct_experts * n * k);
  if (bias) op.work.vector += Flops::Of(shape.rows * n);
  op.work.weights = shape.distinct_experts * expert;
  op.work.activations_in = RowBytes(shape.input, input_rows, shape.k);
  op.work.activations_out = RowBytes(shape.output, shape.rows, shape.n);
  op.held = shape.experts * expert;
  return op;
}

}  // namespace mansard::model
