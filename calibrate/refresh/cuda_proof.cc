#include "calibrate/refresh/cuda_proof.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "calibrate/measure/statistics.h"
#include "calibrate/refresh/cuda_rows.h"
#include "model/base/status_macros.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

constexpr CudaFitOptions kProofOptions = {.hold_out = true, .draws = 0};

// What is said of a row.
struct Judged {
  const MeasuredCase* row = nullptr;
  double ratio = 1;  // Predicted over measured.
  bool inside = false;
};

// False where the device has no unit for it.
bool Judge(const MeasuredCase& row, const model::HardwareProfile& profile,
           Judged& judged) {
  const model::KernelStack& stack = profile.stacks().front();
  const auto ops = row.ops(profile.device(), stack);
  if (!ops.has_value()) return false;
  double estimate = 0, low = 0, high = 0;
  for (const model::Op& op : *ops) {
    const model::OpTime time = model::Price(
        op,
        {profile.device(), profile.fabrics().front(), stack, row.warm_cache});
    estimate += time.estimate.value();
    low += time.p10.value();
    high += time.p90.value();
  }
  const double measured = row.measured.value();
  judged = {&row, estimate / measured, low <= measured && measured <= high};
  return true;
}

HeldOutSlice SliceOf(const std::vector<Judged>& rows) {
  HeldOutSlice slice;
  slice.table = rows.front().row->table;
  slice.slice = rows.front().row->slice;
  slice.rows = rows.size();
  std::vector<double> errors;
  for (const Judged& judged : rows) {
    const double error = std::abs(judged.ratio - 1);
    if (errors.empty() || error > std::abs(slice.worst_ratio - 1)) {
      slice.worst = judged.row->shape;
      slice.worst_ratio = judged.ratio;
    }
    errors.push_back(error);
    slice.mean_error += error;
    slice.bias += judged.ratio - 1;
    slice.inside += judged.inside ? 1 : 0;
  }
  const double count = static_cast<double>(rows.size());
  slice.mean_error /= count;
  slice.bias /= count;
  slice.inside /= count;
  slice.median_error = Median(std::move(errors));
  return slice;
}

}  // namespace

bool CudaProof::Holds() const {
  bool products = false, attention = false;
  for (const HeldOutSlice& slice : slices) {
    (slice.table == "gemm" ? products : attention) = true;
    if (slice.mean_error > slice.target()) return false;
  }
  return products && attention;
}

absl::StatusOr<CudaProof> ProveCuda(const Record& record,
                                    const model::ShippedData& data) {
  CudaProof proof;
  ASSIGN_OR_RETURN(proof.fit, FitCudaProfile(record, data, kProofOptions));
  const std::vector<MeasuredCase> rows = CudaRows(record);
  std::map<std::pair<std::string, std::string>, std::vector<Judged>> slices;
  for (const MeasuredCase& row : rows) {
    Judged judged;
    if (!IsHeldOut(row, kProofOptions) || !row.in_target ||
        !Judge(row, *proof.fit.refreshed.profile, judged)) {
      continue;
    }
    slices[{row.table, row.slice}].push_back(judged);
  }
  if (slices.empty()) {
    return absl::FailedPreconditionError(
        "no product and no attention is held out: nothing to judge on");
  }
  for (const auto& [key, judged] : slices) {
    proof.slices.push_back(SliceOf(judged));
  }
  return proof;
}

std::string CudaProofText(const CudaProof& proof) {
  std::string text =
      "Shapes that the fit did not see, predicted over measured:\n";
  for (const HeldOutSlice& slice : proof.slices) {
    absl::StrAppendFormat(
        &text,
        "%-18s %-9s %4d rows  mean %5.1f %%  median %5.1f %%  bias %+5.1f %%  "
        "inside %3.0f %%  %s %2.0f %%\n",
        slice.table, slice.slice, slice.rows, slice.mean_error * 100,
        slice.median_error * 100, slice.bias * 100, slice.inside * 100,
        slice.mean_error <= slice.target() ? "within" : "BEYOND",
        slice.target() * 100);
    absl::StrAppendFormat(&text, "  worst %.2f at %s\n", slice.worst_ratio,
                          slice.worst);
  }
  for (const std::string& unfitted : proof.fit.unfitted) {
    absl::StrAppendFormat(&text, "not fitted: %s\n", unfitted);
  }
  return text;
}

}  // namespace mansard::calibrate
