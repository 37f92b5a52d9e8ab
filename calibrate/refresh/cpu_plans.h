// What the fit of a CPU's families starts from. Internal to calibrate/refresh.
#pragma once

#include <vector>

#include "calibrate/fit/family_fit.h"
#include "calibrate/measure/case.h"
#include "model/hardware/kernel_stack.h"

namespace mansard::calibrate {

struct CpuPlan {
  CaseKind kind;  // The rows.
  FitPlan plan;
};

// Of every family that a stack of the CPU has. Products run as BLAS runs them:
// weights are copied into tiles first, and nothing overlaps that. `head_size`:
// of the prefill cases.
std::vector<CpuPlan> CpuPlans(const model::Device& device, int head_size);

// A stack of the plans' priors, without host cost.
model::KernelStackSpec CpuBaseStack(const std::vector<CpuPlan>& plans);

}  // namespace mansard::calibrate
