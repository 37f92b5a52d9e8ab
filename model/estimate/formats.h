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

// What a caller asks for of one class of linear layers; empty: as without.
struct LinearChoice {
  LinearClass linear = LinearClass::kAttentionInput;
  std::optional<Format> weights;
  std::optional<Format> activations;
};

// What a caller asks for; empty: the native one.
struct FormatChoice {
  std::optional<Format> weights;
  std::optional<Format> activations;
  std::optional<Format> kv_cache;
  std::optional<Format> state = std::nullopt;
  // Over the formats above, the last one of a class holds.
  std::vector<LinearChoice> linears = {};
};

struct ResolvedFormats {
  PassFormats formats;
  bool weight_only = false;  // Layer weights are narrower than their rate.
  // Of a graph: which of its layers' GEMMs are weight-only, and what is not in
  // the formats that most are in.
  std::vector<std::string> assumptions = {};
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

// Of a graph, by layer kind and class. A choice of weights or activations
// alone reaches the classes that the checkpoint quantises, or, where it
// quantises none, all that follow its precision. Native activations that the
// device has no unit for are read as the residual stream where engines have
// weight-only kernels for the weights; those that a caller asks for are not.
absl::StatusOr<ResolvedFormats> ResolveGraphFormats(const FormatChoice& choice,
                                                    const ModelGraphSpec& spec,
                                                    const Device& device,
                                                    const KernelStack& stack);

// FAILED_PRECONDITION where the stack has no collective family for the tier.
absl::Status CheckCollectives(LinkTier tier, const KernelStack& stack);

// What is left out of every price on this device, where sources are silent.
std::vector<std::string> DeviceAssumptions(const Device& device);
// What weight-only formats mean for GEMMs.
std::string WeightOnlyAssumption(const GemmFormats& formats);

}  // namespace mansard::model
