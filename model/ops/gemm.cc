#include "model/ops/op.h"

namespace mansard::model {

// 2mnk operations; weights with scales, input and output once each at their
// own widths. A bias is n more elements in the output's format and one add per
// output. Source: definition.
Op GemmOp(const GemmShape& shape, bool bias) {
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  Op op{.kind = OpKind::kGemm, .part = Part::kQkvProj, .shape = shape};
  op.work.tensor = Flops::Of(2 * m * n * k);
  op.work.weights = WeightBytes(shape.weights, shape.n, shape.k);
  if (bias) {
    op.work.vector = Flops::Of(m * n);
    op.work.weights += ElementBytes(shape.output, n);
  }
  op.work.activations_in = ActivationBytes(shape.input, shape.m, shape.k);
  op.work.activations_out = ActivationBytes(shape.output, shape.m, shape.n);
  return op;
}

}  // namespace mansard::model
