// The slow counter's book: what was computed and touched, by part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/base/format.h"
#include "model/lower/lower.h"

namespace mansard::testing {

struct ReferenceOptions {
  model::PassFormats formats;
  bool fused_attention = true;
  int tensor = 1;
  int rank = 0;
};

// Bytes are of distinct elements, at the width each is stored in.
struct ReferenceWork {
  int64_t multiply_adds = 0;  // On tensor units; two operations each.
  int64_t exponentials = 0;   // Attention's, the activation's, the router's.
  // Of convolutions and recurrent states; the others' are approximate.
  int64_t vector_operations = 0;
  double weights = 0;
  double kv_read = 0;
  double kv_write = 0;
  double activations_in = 0;
  double activations_out = 0;
  double message = 0;
};

// Marks elements of one matrix; each counts once.
class Touched {
 public:
  Touched(int64_t rows, int64_t columns)
      : columns_(columns), marks_(static_cast<size_t>(rows * columns)) {}
  void Mark(int64_t row, int64_t column) {
    marks_[static_cast<size_t>(row * columns_ + column)] = 1;
  }
  // Of the marked elements and of every scale block that one of them is in.
  double WeightBytes(model::Format format) const;
  double ActivationBytes(model::Format format) const;

 private:
  double Bytes(model::Format format, int block_rows, int block_columns,
               int zero_point_bits) const;
  int64_t columns_;
  std::vector<char> marks_;
};

// Of one element, without scales.
double ElementSize(model::Format format);

class Tally {
 public:
  explicit Tally(const model::PassFormats& formats) : formats_(formats) {}

  const model::PassFormats& formats() const { return formats_; }
  ReferenceWork& Of(const std::string& part) { return work_[part]; }
  const std::map<std::string, ReferenceWork>& work() const { return work_; }

  struct Operands {
    model::Format input;
    model::Format weights;
    model::Format output;
  };
  // The layer that is counted, by its kind.
  void Enter(size_t kind) { linears_ = formats_.OfKind(kind); }
  // Operands of that layer's GEMMs, of those that stay wide, of the head.
  Operands Of(model::LinearClass linear) const;
  Operands Wide() const;
  // The format whose rate the class's GEMMs run at.
  model::Format Rate(model::LinearClass linear) const {
    return linears_[static_cast<size_t>(linear)].compute;
  }
  Operands Head() const;

  void Gemm(const std::string& part, int64_t rows, int64_t outputs,
            int64_t inputs, const Operands& operands, bool bias = false);
  // A layer's GEMM, whose input is quantised first where it is stored narrow.
  void Linear(model::LinearClass linear, const std::string& part,
              const std::string& quantize, int64_t rows, int64_t outputs,
              int64_t inputs, bool bias = false);
  void Quantize(const std::string& part, model::LinearClass linear,
                int64_t rows, int64_t columns);
  // To any format; nothing is done for those of 16 bits and more.
  void QuantizeTo(model::Format narrow, const std::string& part, int64_t rows,
                  int64_t columns);
  // Elements of the residual stream's format, `reads` and `writes` times.
  void Move(const std::string& part, int64_t rows, int64_t columns, int reads,
            int writes);
  // The sum over `tensor` ranks of rows x columns; nothing for one rank.
  void AllReduce(const std::string& part, int64_t rows, int64_t columns,
                 int tensor);
  // SiLU or the like over rows x columns, gated: of twice as many.
  void Activation(const std::string& part, int64_t rows, int64_t columns,
                  bool gated);
  // A norm with `vectors` scale vectors of `columns`.
  void Norm(const std::string& part, int64_t rows, int64_t columns,
            bool residual, int vectors = 1);
  // A norm of a branch, added to the residual.
  void NormThenAdd(const std::string& part, int64_t rows, int64_t columns,
                   int vectors);

 private:
  model::PassFormats formats_;
  model::LinearTable linears_ = formats_.uniform;
  std::map<std::string, ReferenceWork> work_;
};

}  // namespace mansard::testing
