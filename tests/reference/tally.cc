#include "tests/reference/tally.h"

#include <set>
#include <utility>

namespace mansard::testing {
namespace {

using model::Format;

double WholeBytes(int64_t bits) { return static_cast<double>((bits + 7) / 8); }

}  // namespace

double Touched::Bytes(Format format, int block_rows, int block_columns,
                      int zero_point_bits) const {
  const model::FormatTraits& traits = model::TraitsOf(format);
  int64_t bits = 0;
  std::set<std::pair<int64_t, int64_t>> blocks;
  for (size_t i = 0; i < marks_.size(); ++i) {
    if (marks_[i] == 0) continue;
    bits += traits.element_bits;
    if (traits.scale_bits == 0) continue;
    const int64_t row = static_cast<int64_t>(i) / columns_;
    const int64_t column = static_cast<int64_t>(i) % columns_;
    blocks.insert({block_rows == 0 ? 0 : row / block_rows,
                   block_columns == 0 ? 0 : column / block_columns});
  }
  const int64_t scales = static_cast<int64_t>(blocks.size());
  return WholeBytes(bits) + WholeBytes(scales * traits.scale_bits) +
         WholeBytes(scales * zero_point_bits) +
         WholeBytes(traits.tensor_scale_bits);
}

double Touched::WeightBytes(Format format) const {
  const model::FormatTraits& traits = model::TraitsOf(format);
  return Bytes(format, traits.weight_scale_rows, traits.weight_scale_columns,
               traits.zero_point_bits);
}

double Touched::ActivationBytes(Format format) const {
  return Bytes(format, 1, model::TraitsOf(format).activation_scale_columns, 0);
}

double ElementSize(Format format) {
  return model::TraitsOf(format).element_bits / 8.0;
}

Tally::Operands Tally::Of(model::LinearClass linear) const {
  const model::GemmFormats& formats = linears_[static_cast<size_t>(linear)];
  return {formats.activations, formats.weights, formats_.hidden};
}

Tally::Operands Tally::Head() const {
  return {formats_.head.activations, formats_.head.weights, formats_.hidden};
}

Tally::Operands Tally::Wide() const {
  return {formats_.hidden, formats_.native, formats_.hidden};
}

void Tally::Gemm(const std::string& part, int64_t rows, int64_t outputs,
                 int64_t inputs, const Operands& operands, bool bias) {
  ReferenceWork& work = work_[part];
  Touched weights(outputs, inputs), in(rows, inputs), out(rows, outputs);
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < outputs; ++n) {
      out.Mark(m, n);
      for (int64_t k = 0; k < inputs; ++k) {
        ++work.multiply_adds;
        in.Mark(m, k);
        weights.Mark(n, k);
      }
    }
  }
  work.weights += weights.WeightBytes(operands.weights);
  for (int64_t n = 0; bias && n < outputs; ++n) {
    work.weights += ElementSize(operands.output);
  }
  work.activations_in += in.ActivationBytes(operands.input);
  work.activations_out += out.ActivationBytes(operands.output);
}

void Tally::Linear(model::LinearClass linear, const std::string& part,
                   const std::string& quantize, int64_t rows, int64_t outputs,
                   int64_t inputs, bool bias) {
  Quantize(quantize, linear, rows, inputs);
  Gemm(part, rows, outputs, inputs, Of(linear), bias);
}

void Tally::Quantize(const std::string& part, model::LinearClass linear,
                     int64_t rows, int64_t columns) {
  QuantizeTo(Of(linear).input, part, rows, columns);
}

void Tally::QuantizeTo(Format narrow, const std::string& part, int64_t rows,
                       int64_t columns) {
  if (ElementSize(narrow) >= 2) return;
  Touched matrix(rows, columns);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) matrix.Mark(r, c);
  }
  work_[part].activations_in += matrix.ActivationBytes(formats_.hidden);
  work_[part].activations_out += matrix.ActivationBytes(narrow);
}

void Tally::Move(const std::string& part, int64_t rows, int64_t columns,
                 int reads, int writes) {
  ReferenceWork& work = work_[part];
  const double size = ElementSize(formats_.hidden);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      work.activations_in += reads * size;
      work.activations_out += writes * size;
    }
  }
}

void Tally::AllReduce(const std::string& part, int64_t rows, int64_t columns,
                      int tensor) {
  if (tensor == 1) return;
  Move(part, rows, columns, 1, 1);
  for (int64_t e = 0; e < rows * columns; ++e) {
    work_[part].message += ElementSize(formats_.hidden);
  }
}

void Tally::Activation(const std::string& part, int64_t rows, int64_t columns,
                       bool gated) {
  Move(part, rows, columns, gated ? 2 : 1, 1);
  for (int64_t e = 0; e < rows * columns; ++e) ++work_[part].exponentials;
}

void Tally::NormThenAdd(const std::string& part, int64_t rows, int64_t columns,
                        int vectors) {
  Move(part, rows, columns, 2, 1);
  for (int64_t c = 0; c < columns * vectors; ++c) {
    work_[part].weights += ElementSize(formats_.native);
  }
}

void Tally::Norm(const std::string& part, int64_t rows, int64_t columns,
                 bool residual, int vectors) {
  const int matrices = residual ? 2 : 1;
  Move(part, rows, columns, matrices, matrices);
  for (int64_t c = 0; c < columns * vectors; ++c) {
    work_[part].weights += ElementSize(formats_.native);
  }
}

}  // namespace mansard::testing
