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

// Tensor units add eight-bit products in fewer bits than fp32 has.
double AdditionShare(Format format) {
  return model::IsLowPrecision(format) ? 0x1p-10 : 0x1p-12;
}

struct Operands {
  const void* x = nullptr;
  const void* weights = nullptr;  // Of the first set.
  void* y = nullptr;
};

absl::StatusOr<double> ResultAt(Gpu& gpu, const Case& measured, const void* y,
                                int64_t at) {
  if (measured.format == Format::kInt8) {
    int32_t sum = 0;
    RETURN_IF_ERROR(
        gpu.Read(static_cast<const int32_t*>(y) + at, &sum, sizeof(sum)));
    return sum;
  }
  ASSIGN_OR_RETURN(const std::vector<double> result,
                   ReadNumbers(gpu, y, ResultFormat(measured), at, 1));
  return result.front();
}

absl::Status CheckElement(Gpu& gpu, const Case& measured,
                          const Operands& operands, int64_t row,
                          int64_t column) {
  const int64_t k = measured.k;
  ASSIGN_OR_RETURN(const std::vector<double> x,
                   ReadNumbers(gpu, operands.x, measured.format, row * k, k));
  ASSIGN_OR_RETURN(
      const std::vector<double> weights,
      ReadNumbers(gpu, operands.weights, measured.format, column * k, k));
  double sum = 0;
  double size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += x[i] * weights[i];
    size += std::abs(x[i] * weights[i]);
  }
  if (size == 0) return absl::DataLossError("the operands are all 0");
  ASSIGN_OR_RETURN(const double y, ResultAt(gpu, measured, operands.y,
                                            row * measured.n + column));
  const double tolerance =
      measured.format == Format::kInt8
          ? 0
          : ToleranceOf(sum, size, AdditionShare(measured.format));
  return CheckNear(absl::StrCat("y[", row, ", ", column, "]"), y, sum,
                   tolerance);
}

absl::Status CheckProduct(Gpu& gpu, const Case& measured,
                          const Operands& operands) {
  CheckedPlaces places;
  RETURN_IF_ERROR(CheckElement(gpu, measured, operands, 0, 0));
  RETURN_IF_ERROR(
      CheckElement(gpu, measured, operands, measured.m - 1, measured.n - 1));
  for (int i = 0; i < CheckedPlaces::kCount; ++i) {
    RETURN_IF_ERROR(CheckElement(gpu, measured, operands,
                                 places.Below(measured.m),
                                 places.Below(measured.n)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CudaWork> MakeGemmWork(Gpu& gpu, const Case& measured,
                                      const BlasLt& blas,
                                      const BlasRoom& room) {
  const Format format = measured.format;
  BlasRoom own = room;
  CudaWork work;
  if (format == Format::kNvfp4) {
    // Scales of 1 in e4m3, in whatever order.
    constexpr int kOne = 0x38;
    const int64_t bytes = std::max(Nvfp4ScaleBytes(measured.m, measured.k),
                                   Nvfp4ScaleBytes(measured.n, measured.k));
    ASSIGN_OR_RETURN(void* const scales, Hold(gpu, bytes, work));
    RETURN_IF_ERROR(gpu.SetBytes(scales, kOne, bytes));
    own.scales = scales;
  }
  ASSIGN_OR_RETURN(
      std::unique_ptr<BlasPlan> made,
      blas.Plan({measured.m, measured.n, measured.k, format}, own));
  const std::shared_ptr<const BlasPlan> plan = std::move(made);
  const int64_t set_bytes = StoredBytes(format, measured.n * measured.k);
  // Weights come from memory; what is multiplied and what is made were just
  // there, as in a layer.
  ASSIGN_OR_RETURN(work.sets, PlanColdSets(gpu, set_bytes));
  ASSIGN_OR_RETURN(
      void* const x,
      HoldRandom(gpu, format, StoredBytes(format, measured.m * measured.k), 6,
                 work));
  ASSIGN_OR_RETURN(void* const weights,
                   HoldRandom(gpu, format, work.sets * set_bytes, 7, work));
  const int64_t y_bytes =
      StoredBytes(ResultFormat(measured), measured.m * measured.n);
  ASSIGN_OR_RETURN(void* const y, Hold(gpu, y_bytes, work));
  work.enqueue = [&gpu, plan, x, weights, y, set_bytes](int64_t set) {
    return plan->Enqueue(x, static_cast<const char*>(weights) + set * set_bytes,
                         y, gpu.stream());
  };
  work.verify = [&gpu, measured, x, weights, y, y_bytes,
                 run = work.enqueue]() -> absl::Status {
    RETURN_IF_ERROR(gpu.SetBytes(y, 0xff, y_bytes));
    RETURN_IF_ERROR(run(0));
    return CheckProduct(gpu, measured, {x, weights, y});
  };
  return work;
}

}  // namespace mansard::calibrate
