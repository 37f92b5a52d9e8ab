// The loops that the CPU backend times, compiled for several instruction sets;
// the widest that this machine has is chosen when the program runs. fp32, one
// thread. Counts are of elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mansard::calibrate {

inline constexpr double kSpinClocks = 3;

struct Loops {
  const char* instruction_set;
  void (*copy)(const float* from, float* to, size_t count);
  // to = a + scale * b.
  void (*triad)(const float* a, const float* b, float scale, float* to,
                size_t count);
  // The sum, so that nothing is left out.
  float (*read)(const float* from, size_t count);
  // `steps` multiply-adds x = x * factor + term in every lane of as many
  // independent chains as hide the latency; the sum of all lanes. All lanes
  // start at 1. multiply_add_lanes: of all chains.
  float (*multiply_add)(int64_t steps, float factor, float term);
  int multiply_add_lanes;
  // row / sqrt(mean(row^2) + 1e-6) * weight.
  void (*norm)(const float* row, const float* weight, float* to, size_t count);
  // silu(gate) * up.
  void (*activation)(const float* gate, const float* up, float* to,
                     size_t count);
  void (*add)(const float* a, const float* b, float* to, size_t count);
  // exp(scale * row - its maximum), divided by its sum.
  void (*softmax)(float* row, float scale, size_t count);
  // scores[i] = query . keys[i], keys of `width` elements one after the other.
  void (*scores)(const float* query, const float* keys, size_t width,
                 size_t count, float* scores);
  // to = sum of weights[i] * values[i].
  void (*weighted_sum)(const float* weights, const float* values, size_t width,
                       size_t count, float* to);
  // Dependent multiplications of whole numbers, which take kSpinClocks each on
  // any processor that matters: what the clock is told by.
  uint64_t (*spin)(uint64_t steps);
};

// "avx512", "avx2" or "baseline".
const Loops& BestLoops();

// By instruction set; what the machine has not is not to be called.
extern const Loops kBaselineLoops;
#if defined(__x86_64__)
extern const Loops kAvx2Loops;
extern const Loops kAvx512Loops;
#endif

}  // namespace mansard::calibrate
