// Cases of the CPU backend with their buffers and their references. Internal
// to calibrate/cpu.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "calibrate/cpu/cold_pool.h"
#include "calibrate/cpu/cpu_ops.h"
#include "calibrate/measure/case.h"

namespace mansard::calibrate {

// What a case repeats, and how it is checked.
struct CpuWork {
  std::function<void()> once;
  // Where there is one, it stands untimed before every run.
  std::function<void()> before = nullptr;
  std::function<absl::Status()> verify;
};

// Steps of one multiply-add run.
inline constexpr int64_t kMultiplyAddSteps = 50'000;

CpuWork StreamWork(const Case& measured, const Loops& loops);
CpuWork MultiplyAddWork(const Loops& loops);
CpuWork GemmWork(const Case& measured, CpuOps& ops, ColdPool& pool);
// As one stands in a layer: what the kernel before wrote is in the cache, all
// else (weights, results, the older operand of a residual) in memory. `pool`:
// in pages of the usual size; it is written to.
CpuWork ElementwiseWork(const Case& measured, CpuOps& ops, ColdPool& pool);
CpuWork AttentionWork(const Case& measured, CpuOps& ops, ColdPool& pool);

}  // namespace mansard::calibrate
