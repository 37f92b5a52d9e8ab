// How a kernel's jobs share a multiprocessor.
#pragma once

#include <algorithm>
#include <cmath>

namespace mansard::model {

// Jobs that run at once: those whose four stages of operands fit into shared
// memory, 1 to 4. `operand_bytes`: of one stage.
inline double ResidentJobs(double smem_bytes, double operand_bytes) {
  constexpr double kStages = 4;
  constexpr double kStageOverhead = 1024;  // Bytes of barriers, descriptors.
  constexpr double kMostResident = 4;
  return std::clamp(
      std::floor(smem_bytes / (kStages * operand_bytes + kStageOverhead)), 1.0,
      kMostResident);
}

}  // namespace mansard::model
