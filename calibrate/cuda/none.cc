// A build without CUDA.
#include "absl/status/status.h"
#include "calibrate/cuda/cuda_backend.h"

namespace mansard::calibrate {

absl::StatusOr<CudaMachine> OpenCudaMachine() {
  return absl::FailedPreconditionError(
      "built without CUDA: no device to measure");
}

}  // namespace mansard::calibrate
