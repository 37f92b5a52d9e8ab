#include "model/ops/op.h"

namespace mansard::model {

// A multiply-add a kernel position, and SiLU (add, divide, multiply). The last
// kernel - 1 inputs of each sequence are its state: KV traffic, as they are
// kept between passes and lie in HBM.
Op ConvolutionOp(const ElementwiseShape& shape, const ConvolutionFilter& filter,
                 int64_t states_read, int64_t states_written) {
  const double channels = static_cast<double>(shape.columns);
  const double elements = static_cast<double>(shape.rows) * channels;
  const Bytes state =
      ElementBytes(shape.format, channels * (filter.kernel - 1));
  Op op{
      .kind = OpKind::kConvolution, .part = Part::kConvolution, .shape = shape};
  op.work.vector =
      Flops::Of(elements * (2.0 * filter.kernel + (filter.bias ? 1 : 0) + 3));
  op.work.special = Flops::Of(elements);
  op.work.weights = ElementBytes(
      filter.filter_format, channels * (filter.kernel + (filter.bias ? 1 : 0)));
  op.work.kv_read = static_cast<double>(states_read) * state;
  op.work.kv_write = static_cast<double>(states_written) * state;
  op.work.activations_in = ElementBytes(shape.format, elements);
  op.work.activations_out = ElementBytes(shape.format, elements);
  op.held = op.work.weights;
  return op;
}

// The norm's work, then that of a gate, which is read beside.
Op GatedNormOp(const ElementwiseShape& shape, Format weight_format) {
  Op op = NormOp(shape, false, weight_format);
  const Op gate = GateOp(shape);
  op.part = Part::kRecurrentNorm;
  op.work.vector += gate.work.vector;
  op.work.special += gate.work.special;
  op.work.activations_in = gate.work.activations_in;
  return op;
}

}  // namespace mansard::model
