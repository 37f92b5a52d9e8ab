#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;

constexpr int64_t kNumberBytes = 2;  // bf16.
constexpr double kNormEpsilon = 1e-6;
constexpr double kLargestE4m3 = 448;
// Three bits of mantissa, rounded.
constexpr double kE4m3Rounding = 0x1p-4;
constexpr double kScaleRounding = 1e-3;

// Two inputs at most, a result, and the scales of a quantised one.
struct Operands {
  void* first = nullptr;
  void* second = nullptr;
  void* result = nullptr;
  void* scales = nullptr;
};

// Columns of a row of `first`.
int64_t InputColumns(const Case& measured) {
  return measured.kind == CaseKind::kActivation ? 2 * measured.columns
                                                : measured.columns;
}

absl::Status Launch(Gpu& gpu, const Case& measured, const Operands& operands) {
  GpuKernels& kernels = gpu.kernels();
  const int64_t rows = measured.rows;
  const int64_t columns = measured.columns;
  if (measured.kind == CaseKind::kNorm) {
    return kernels.Norm(operands.first, operands.second, operands.result, rows,
                        columns);
  }
  if (measured.kind == CaseKind::kActivation) {
    return kernels.Activation(operands.first, operands.result, rows, columns);
  }
  if (measured.kind == CaseKind::kResidual) {
    return kernels.Residual(operands.first, operands.second, operands.result,
                            rows * columns);
  }
  return kernels.Quantize(operands.first, operands.result,
                          static_cast<float*>(operands.scales), rows, columns);
}

// What a row's inputs are, read back.
struct Row {
  std::vector<double> first;
  std::vector<double> second;

  double SumOfSquares() const {
    double sum = 0;
    for (const double x : first) sum += x * x;
    return sum;
  }
  double Largest() const {
    double largest = 0;
    for (const double x : first) largest = std::max(largest, std::abs(x));
    return largest;
  }
};

double Expected(const Case& measured, const Row& row, int64_t column) {
  const size_t at = static_cast<size_t>(column);
  const size_t columns = static_cast<size_t>(measured.columns);
  const double x = row.first[at];
  if (measured.kind == CaseKind::kNorm) {
    const double mean =
        row.SumOfSquares() / static_cast<double>(measured.columns);
    return x / std::sqrt(mean + kNormEpsilon) * row.second[at];
  }
  if (measured.kind == CaseKind::kActivation) {
    return x / (1 + std::exp(-x)) * row.first[columns + at];
  }
  return x + row.second[at];
}

absl::Status CheckQuantized(Gpu& gpu, const Case& measured,
                            const Operands& operands, const Row& inputs,
                            int64_t row, int64_t column) {
  ASSIGN_OR_RETURN(const std::vector<double> scale,
                   ReadNumbers(gpu, operands.scales, Format::kFp32, row, 1));
  const double expected_scale = inputs.Largest() / kLargestE4m3;
  RETURN_IF_ERROR(CheckNear(absl::StrCat("scale[", row, "]"), scale.front(),
                            expected_scale, kScaleRounding * expected_scale));
  ASSIGN_OR_RETURN(const std::vector<double> code,
                   ReadNumbers(gpu, operands.result, Format::kFp8E4m3,
                               row * measured.columns + column, 1));
  const double x = inputs.first[static_cast<size_t>(column)];
  return CheckNear(absl::StrCat("quantised[", row, ", ", column, "]"),
                   code.front() * scale.front(), x,
                   1.01 * kE4m3Rounding * std::abs(x) + scale.front() * 0x1p-9);
}

absl::Status CheckPlace(Gpu& gpu, const Case& measured,
                        const Operands& operands, int64_t row, int64_t column) {
  const int64_t width = InputColumns(measured);
  Row inputs;
  ASSIGN_OR_RETURN(inputs.first, ReadNumbers(gpu, operands.first, Format::kBf16,
                                             row * width, width));
  if (operands.second != nullptr) {
    // A norm's weights are those of all rows.
    const int64_t first =
        measured.kind == CaseKind::kNorm ? 0 : row * measured.columns;
    ASSIGN_OR_RETURN(inputs.second,
                     ReadNumbers(gpu, operands.second, Format::kBf16, first,
                                 measured.columns));
  }
  if (measured.kind == CaseKind::kQuantize) {
    return CheckQuantized(gpu, measured, operands, inputs, row, column);
  }
  ASSIGN_OR_RETURN(const std::vector<double> result,
                   ReadNumbers(gpu, operands.result, Format::kBf16,
                               row * measured.columns + column, 1));
  const double expected = Expected(measured, inputs, column);
  return CheckNear(
      absl::StrCat(CaseKindName(measured.kind), "[", row, ", ", column, "]"),
      result.front(), expected, ToleranceOf(expected, 0, 0));
}

}  // namespace

absl::StatusOr<CudaWork> MakeElementwiseWork(Gpu& gpu, const Case& measured) {
  constexpr int64_t kTogether = 8;
  if (measured.format != Format::kBf16 || measured.columns % kTogether != 0) {
    return absl::UnimplementedError(
        "the kernels of our own take bf16, in multiples of 8 columns");
  }
  const int64_t count = measured.rows * measured.columns;
  const int64_t result_bytes =
      measured.kind == CaseKind::kQuantize ? count : count * kNumberBytes;
  CudaWork work;
  Operands operands;
  ASSIGN_OR_RETURN(
      operands.first,
      HoldRandom(gpu, Format::kBf16,
                 measured.rows * InputColumns(measured) * kNumberBytes, 14,
                 work));
  if (measured.kind == CaseKind::kNorm ||
      measured.kind == CaseKind::kResidual) {
    ASSIGN_OR_RETURN(
        operands.second,
        HoldRandom(gpu, Format::kBf16, count * kNumberBytes, 15, work));
  }
  if (measured.kind == CaseKind::kQuantize) {
    ASSIGN_OR_RETURN(operands.scales,
                     Hold(gpu, measured.rows * int64_t{sizeof(float)}, work));
  }
  ASSIGN_OR_RETURN(operands.result, Hold(gpu, result_bytes, work));
  work.enqueue = [&gpu, measured, operands](int64_t) {
    return Launch(gpu, measured, operands);
  };
  work.verify = [&gpu, measured, operands, result_bytes]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(operands.result, 0xff, result_bytes));
    RETURN_IF_ERROR(Launch(gpu, measured, operands));
    CheckedPlaces places;
    RETURN_IF_ERROR(CheckPlace(gpu, measured, operands, 0, 0));
    RETURN_IF_ERROR(CheckPlace(gpu, measured, operands, measured.rows - 1,
                               measured.columns - 1));
    for (int i = 0; i < CheckedPlaces::kCount; ++i) {
      RETURN_IF_ERROR(CheckPlace(gpu, measured, operands,
                                 places.Below(measured.rows),
                                 places.Below(measured.columns)));
    }
    return absl::OkStatus();
  };
  return work;
}

}  // namespace mansard::calibrate
