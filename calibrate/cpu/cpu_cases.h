// The cases of the CPU backend, as one table.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/measure/case.h"

namespace mansard::calibrate {

enum class Extent {
  kFull,
  kQuick,  // What a fit cannot do without.
};

// What matters most first. `cache_bytes` is of the last level: streams are
// sized by it.
std::vector<Case> CpuCases(int64_t cache_bytes, Extent extent);

}  // namespace mansard::calibrate
