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
  std::function<absl::Status()> verify;
};

// Steps of one multiply-add run.
inline constexpr int64_t kMultiplyAddSteps = 50'000;

CpuWork StreamWork(const Case& measured, const Loops& loops);
CpuWork MultiplyAddWork(const Loops& loops);
CpuWork GemmWork(const Case& measured, CpuOps& ops, ColdPool& pool);
// Operands are in the last level's cache, as another kernel leaves them:
// buffers rotate over a quarter of `cache_bytes`.
CpuWork ElementwiseWork(const Case& measured, CpuOps& ops, int64_t cache_bytes);
CpuWork AttentionWork(const Case& measured, CpuOps& ops, ColdPool& pool);

}  // namespace mansard::calibrate
