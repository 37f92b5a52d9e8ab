// Device code behind gpu.h. Internal to calibrate/cuda, in builds with CUDA.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "absl/status/status.h"
#include "calibrate/cuda/device_code.h"
#include "calibrate/cuda/gpu.h"

namespace mansard::calibrate {

// RESOURCE_EXHAUSTED where there is no memory, else INTERNAL; names the call.
absl::Status FromCuda(cudaError_t error, const char* call);

std::unique_ptr<GpuKernels> MakeCudaKernels(const device_code::Place& place);

}  // namespace mansard::calibrate
