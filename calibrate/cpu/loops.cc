#include "calibrate/cpu/loops.h"

namespace mansard::calibrate {

const Loops& BestLoops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    return kAvx512Loops;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return kAvx2Loops;
  }
#endif
  return kBaselineLoops;
}

}  // namespace mansard::calibrate
