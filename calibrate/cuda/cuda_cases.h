// The cases of the CUDA backend, as one table.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/measure/case.h"

namespace mansard::calibrate {

// What of the devices the cases are sized by.
struct CudaLimits {
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int multiprocessors = 1;
  int compute_capability = 80;  // 90 is 9.0.
  int devices = 1;
};

// Formats that the tensor units multiply, as the compute capability says.
std::vector<model::Format> CudaProductFormats(int compute_capability);

// What matters most first. Formats, devices and sizes that the limits do not
// have are left out.
std::vector<Case> CudaCases(const CudaLimits& limits);

}  // namespace mansard::calibrate
