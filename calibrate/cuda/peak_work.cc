#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "calibrate/cuda/numbers.h"
#include "calibrate/cuda/works.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;

// As the kernels have them; see peak_kernels.cuh.
constexpr int kChains = 8;
constexpr int kExponentialChains = 4;
constexpr double kFactor = -0.75;
constexpr double kTerm = 1.25;
constexpr double kFixedPoint = 0.6411857445049860;  // Where x = 2^-x.
// Of a launch: about a millisecond.
constexpr int kMultiplyAddSteps = 1 << 14;
constexpr int kTensorSteps = 1 << 12;
constexpr int kExponentialSteps = 1 << 12;
constexpr int kCheckedSteps = 64;
constexpr double kTensorRows = 16;
constexpr double kTensorColumns = 8;

double FirstOfChain(int chain) { return 1 + 0.125 * chain; }

// Numbers that one instruction multiplies in a thread.
double WidthOf(Format format) { return format == Format::kFp32 ? 1 : 2; }

// Columns of the left operand in one instruction.
double TensorDepth(Format format) {
  if (format == Format::kTf32) return 8;
  return format == Format::kFp8E4m3 || format == Format::kInt8 ? 32 : 16;
}

// What a thread's sum is after kCheckedSteps, and how far rounding may take it.
struct Expected {
  double sum = 0;
  double tolerance = 0;
};
Expected ExpectedOf(const Case& measured) {
  if (measured.kind == CaseKind::kExponential) {
    return {kExponentialChains * kFixedPoint, 1e-4};
  }
  if (measured.kind == CaseKind::kTensorMultiplyAdd) {
    // Of ones: four results of each of the chains.
    return {4 * kChains * TensorDepth(measured.format) * kCheckedSteps, 0};
  }
  double sum = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    double x = FirstOfChain(chain);
    for (int step = 0; step < kCheckedSteps; ++step) x = x * kFactor + kTerm;
    sum += x;
  }
  if (measured.format == Format::kFp32) return {sum, 1e-4};
  return {sum, measured.format == Format::kFp16 ? 0.02 : 0.12};
}

absl::Status Launch(Gpu& gpu, const Case& measured, int steps, bool random,
                    float* to) {
  if (measured.kind == CaseKind::kExponential) {
    return gpu.kernels().Exponential(steps, to);
  }
  if (measured.kind == CaseKind::kTensorMultiplyAdd) {
    return gpu.kernels().TensorMultiplyAdd(measured.format, steps, random, to);
  }
  return gpu.kernels().MultiplyAdd(measured.format, steps, to);
}

int StepsOf(const Case& measured) {
  if (measured.kind == CaseKind::kExponential) return kExponentialSteps;
  return measured.kind == CaseKind::kTensorMultiplyAdd ? kTensorSteps
                                                       : kMultiplyAddSteps;
}

}  // namespace

double PeakOperations(const Case& measured, int threads) {
  const double steps = static_cast<double>(StepsOf(measured)) * threads;
  if (measured.kind == CaseKind::kExponential) {
    return steps * kExponentialChains;
  }
  if (measured.kind == CaseKind::kTensorMultiplyAdd) {
    return steps / 32 * kChains * 2 * kTensorRows * kTensorColumns *
           TensorDepth(measured.format);
  }
  return steps * kChains * 2 * WidthOf(measured.format);
}

absl::StatusOr<CudaWork> MakePeakWork(Gpu& gpu, const Case& measured) {
  const int threads = gpu.kernels().PeakThreads();
  const int64_t bytes = int64_t{4} * threads;
  CudaWork work;
  ASSIGN_OR_RETURN(void* const room, Hold(gpu, bytes, work));
  auto* const to = static_cast<float*>(room);
  work.enqueue = [&gpu, measured, to](int64_t) {
    return Launch(gpu, measured, StepsOf(measured), /*random=*/true, to);
  };
  work.verify = [&gpu, measured, to, threads, bytes]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(to, 0xff, bytes));
    RETURN_IF_ERROR(Launch(gpu, measured, kCheckedSteps, /*random=*/false, to));
    ASSIGN_OR_RETURN(const std::vector<double> sums,
                     ReadNumbers(gpu, to, Format::kFp32, 0, threads));
    const Expected expected = ExpectedOf(measured);
    for (size_t thread = 0; thread < sums.size(); ++thread) {
      RETURN_IF_ERROR(CheckNear(absl::StrCat("thread ", thread), sums[thread],
                                expected.sum, expected.tolerance));
    }
    return absl::OkStatus();
  };
  return work;
}

}  // namespace mansard::calibrate
