// The proof on a CUDA device: calibrate on part of the shapes, predict the
// others, compare.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/refresh/cuda_profile.h"

namespace mansard::calibrate {

// The mean error of products, and of attention, may be so much.
inline constexpr double kGemmTarget = 0.07;
inline constexpr double kAttentionTarget = 0.10;

// Rows of one table and slice that the fit did not see.
struct HeldOutSlice {
  std::string table;  // "gemm".
  std::string slice;  // "bf16".
  size_t rows = 0;
  double mean_error = 0;  // |predicted / measured - 1|.
  double median_error = 0;
  double bias = 0;         // The mean with its sign.
  double inside = 0;       // The share between p10 and p90.
  std::string worst;       // The shape with the largest error.
  double worst_ratio = 1;  // Its predicted over measured.

  double target() const {
    return table == "gemm" ? kGemmTarget : kAttentionTarget;
  }
};

struct CudaProof {
  CudaFit fit;  // Of the other side.
  std::vector<HeldOutSlice> slices;

  // There are slices of products and of attention, and all are within their
  // target.
  bool Holds() const;
};

// Error: as FitCudaProfile; FAILED_PRECONDITION where no row is held out.
absl::StatusOr<CudaProof> ProveCuda(const Record& record,
                                    const model::ShippedData& data);

// One line a slice.
std::string CudaProofText(const CudaProof& proof);

}  // namespace mansard::calibrate
