// What the engine says of kernels that a profiler measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/import/kernels.h"
#include "model/hardware/hardware_profile.h"
#include "model/ops/op.h"

namespace mansard::calibrate {

// Which op kernels are whose name holds `kernel`.
struct KernelOp {
  std::string kernel;
  std::string text;  // "gemm m=4096 n=4096 k=4096 bf16".
  model::Op op;
};

// Of a CSV with the columns "kernel" and "op": a kind, its sizes, and a format
// where it is not bf16. Kinds and sizes: gemm (m, n, k, batch), norm,
// fused_norm (with the residual), activation (gated), residual (rows, columns),
// decode_attention and prefill_attention (requests, context_tokens,
// query_heads, kv_heads, head_size). Error: INVALID_ARGUMENT names the row and
// what is wrong with it, or a format that the device does not compute in.
absl::StatusOr<std::vector<KernelOp>> ReadKernelOps(
    absl::string_view csv, const model::Device& device);

// A measured kernel, and its op as the engine prices it.
struct JudgedKernel {
  MeasuredKernel measured;
  std::string op;  // Empty: none is known.
  KernelCounts model = {};
};

// By the first op whose name the kernel holds, on the stack and the profile's
// first fabric. Error: INVALID_ARGUMENT where the stack does not serve an op.
absl::StatusOr<std::vector<JudgedKernel>> JudgeKernels(
    const std::vector<MeasuredKernel>& kernels,
    const std::vector<KernelOp>& ops, const model::HardwareProfile& profile,
    const model::KernelStack& stack);

// One line a kernel; beside it the model's numbers and measured over model.
// Unknown cells are empty.
std::string KernelTable(const std::vector<JudgedKernel>& kernels);

}  // namespace mansard::calibrate
