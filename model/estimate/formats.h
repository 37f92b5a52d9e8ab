// Formats against what a device and a kernel stack can compute in: shared by
// whole models and single kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/hardware/device.h"
#include "model/hardware/kernel_stack.h"
#include "model/lower/lower.h"

namespace mansard::model {

// What a caller asks for; empty: the native one.
struct FormatChoice {
  std::optional<Format> weights;
  std::optional<Format> activations;
  std::optional<Format> kv_cache;
  std::optional<Format> state = std::nullopt;
};

struct ResolvedFormats {
  PassFormats formats;
  bool weight_only = false;  // Layer weights are narrower than their rate.
};

// A tensor rate and a kernel family for GEMMs of these operands; else
// FAILED_PRECONDITION, whose message lists the supported formats.
absl::StatusOr<ComputeFormat> ResolveGemm(Format weights, Format activations,
                                          const Device& device,
                                          const KernelStack& stack);

// Without the check that GEMMs of them can run: `compute` and `head_compute`
// are as by default.
PassFormats StorageFormats(const FormatChoice& choice, const Precision& native);

// Both kinds of GEMM checked: of layers, and of those in the native formats
// (head, router, absorbed projections), which attention computes in, too.
absl::StatusOr<ResolvedFormats> ResolveFormats(const FormatChoice& choice,
                                               const Precision& native,
                                               const Device& device,
                                               const KernelStack& stack);

// FAILED_PRECONDITION where the stack has no collective family for the tier.
absl::Status CheckCollectives(LinkTier tier, const KernelStack& stack);

// What is left out of every price on this device, where sources are silent.
std::vector<std::string> DeviceAssumptions(const Device& device);
// What weight-only formats mean for GEMMs.
std::string WeightOnlyAssumption(const PassFormats& formats);

}  // namespace mansard::model
