#include "model/estimate/formats.h"

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace mansard::model {
namespace {

Format WideOr(Format format, Format otherwise) {
  return IsLowPrecision(format) ? otherwise : format;
}

absl::Status Unsupported(absl::string_view what, const Device& device) {
  return absl::FailedPreconditionError(absl::StrCat(
      what, "; tensor formats of this device: ", device.TensorFormatNames()));
}

// All layers alike.
void SetUniform(PassFormats& formats) {
  const GemmFormats layers = {formats.precision.weights,
                              formats.precision.activations, formats.compute};
  const GemmFormats wide = {formats.native, formats.hidden,
                            formats.head_compute};
  for (LinearClass linear : AllLinearClasses()) {
    formats.uniform[static_cast<size_t>(linear)] =
        FollowsNativePrecision(linear) ? layers : wide;
  }
  formats.head = wide;
  formats.embedding = formats.native;
}

}  // namespace

absl::StatusOr<ComputeFormat> ResolveGemm(Format weights, Format activations,
                                          const Device& device,
                                          const KernelStack& stack) {
  const std::optional<ComputeFormat> compute =
      device.ComputeFor(weights, activations);
  if (!compute.has_value()) {
    return Unsupported(
        absl::StrCat("The device has no tensor unit for ",
                     TraitsOf(activations).name, " activations with ",
                     TraitsOf(weights).name, " weights"),
        device);
  }
  if (stack.GemmFor(compute->format) == nullptr) {
    return Unsupported(absl::StrCat("Kernel stack \"", stack.spec().id,
                                    "\" has no GEMM family for ",
                                    TraitsOf(compute->format).name),
                       device);
  }
  return *compute;
}

PassFormats StorageFormats(const FormatChoice& choice,
                           const Precision& native) {
  PassFormats formats;
  formats.precision.weights = choice.weights.value_or(native.weights);
  formats.precision.activations =
      choice.activations.value_or(native.activations);
  formats.precision.kv_cache = choice.kv_cache.value_or(native.kv_cache);
  formats.precision.state = choice.state.value_or(native.state);
  formats.hidden = WideOr(formats.precision.activations,
                          WideOr(native.activations, Format::kBf16));
  formats.native = WideOr(native.weights, formats.hidden);
  SetUniform(formats);
  return formats;
}

absl::StatusOr<ResolvedFormats> ResolveFormats(const FormatChoice& choice,
                                               const Precision& native,
                                               const Device& device,
                                               const KernelStack& stack) {
  ResolvedFormats resolved{.formats = StorageFormats(choice, native)};
  PassFormats& formats = resolved.formats;
  ASSIGN_OR_RETURN(const ComputeFormat layers,
                   ResolveGemm(formats.precision.weights,
                               formats.precision.activations, device, stack));
  ASSIGN_OR_RETURN(const ComputeFormat head,
                   ResolveGemm(formats.native, formats.hidden, device, stack));
  formats.compute = layers.format;
  formats.head_compute = head.format;
  SetUniform(formats);
  resolved.weight_only = layers.weight_only;
  return resolved;
}

absl::Status CheckCollectives(LinkTier tier, const KernelStack& stack) {
  if (stack.spec().collectives[static_cast<size_t>(tier)].has_value()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("Kernel stack \"", stack.spec().id,
                   "\" has no collective family for ", LinkTierName(tier)));
}

std::vector<std::string> DeviceAssumptions(const Device& device) {
  std::vector<std::string> assumptions;
  if (!device.spec().l2.has_value() ||
      !device.spec().l2->bandwidth.has_value()) {
    assumptions.push_back(
        "no source gives this device's L2 bandwidth: the floor leaves L2 out");
  }
  if (!device.VectorRate().has_value()) {
    assumptions.push_back(
        "no source gives this device's vector rate: vector work is not priced");
  }
  return assumptions;
}

std::string WeightOnlyAssumption(const GemmFormats& formats) {
  return absl::StrCat(TraitsOf(formats.weights).name, " weights with ",
                      TraitsOf(formats.activations).name,
                      " activations: weight-only, GEMMs run at the ",
                      TraitsOf(formats.compute).name,
                      " rate; each weight is widened once");
}

}  // namespace mansard::model
