// Parallel residual streams: DeepSeek-V4 report §2.2 (manifold-constrained
// hyper-connections) and its model.py. n streams; around a mixer or a
// feed-forward each token has n weights in, n out and n x n between the
// streams, made from all streams by one projection in fp32.
#include "model/ops/op.h"

namespace mansard::model {
namespace {

constexpr Format kWide = Format::kFp32;
// Rows, then columns, are divided by their sums as often.
constexpr double kSinkhornIterations = 20;

double Elements(const ElementwiseShape& shape) {
  return static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
}

Op StreamOp(Part part, const ElementwiseShape& shape, int streams, double reads,
            double writes) {
  Op op{.kind = OpKind::kStreamMix, .part = part, .shape = shape};
  std::get<ElementwiseShape>(op.shape).columns *= streams;
  op.work.activations_in = ElementBytes(shape.format, reads * Elements(shape));
  op.work.activations_out =
      ElementBytes(shape.format, writes * Elements(shape));
  return op;
}

}  // namespace

int64_t StreamWeightColumns(int streams) {
  return (2 + int64_t{streams}) * streams;
}

Op StreamsOp(const ElementwiseShape& shape, int streams) {
  return StreamOp(Part::kEmbeddingStreams, shape, streams, 1, streams);
}

// The unweighted norm before the projection is a factor a token of its result:
// one square and add an element beside the GEMM.
Op StreamWeightsOp(const GemmShape& shape) {
  GemmShape wide = shape;
  wide.weights = kWide;
  wide.output = kWide;
  Op op = GemmOp(wide, false);
  op.part = Part::kMixerStreamWeights;
  op.work.vector += Flops::Of(2 * static_cast<double>(shape.m) *
                              static_cast<double>(shape.k));
  op.work.special = Flops::Of(static_cast<double>(shape.m));  // rsqrt
  return op;
}

// Sigmoids of the weights in and out, exponentials of those between and their
// normalisation: a sum and a quotient an element, by rows and by columns. The
// projection's biases, and one scale each for weights in, out and between.
Op StreamCollapseOp(const ElementwiseShape& shape, int streams, bool mixes) {
  const double n = streams;
  const double rows = static_cast<double>(shape.rows);
  const double weights =
      mixes ? static_cast<double>(StreamWeightColumns(streams)) : n;
  Op op = StreamOp(Part::kMixerStreamMix, shape, streams, n, 1);
  op.work.vector = Flops::Of(2 * n * Elements(shape) + 2 * rows * weights);
  if (mixes) {
    op.work.vector += Flops::Of(rows * kSinkhornIterations * 4 * n * n);
    op.work.activations_out += ElementBytes(kWide, rows * (weights - n));
  }
  op.work.special = Flops::Of(rows * weights);
  op.work.activations_in += ElementBytes(kWide, rows * weights);
  op.work.weights = ElementBytes(kWide, weights + (mixes ? 3 : 1));
  op.held = op.work.weights;
  return op;
}

Op StreamMergeOp(const ElementwiseShape& shape, int streams) {
  const double n = streams;
  Op op = StreamOp(Part::kMixerStreamMerge, shape, streams, n + 1, n);
  op.work.vector = Flops::Of(2 * (n + 1) * n * Elements(shape));
  op.work.activations_in +=
      ElementBytes(kWide, static_cast<double>(shape.rows) * (n + n * n));
  return op;
}

}  // namespace mansard::model
