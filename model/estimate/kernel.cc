#include "model/estimate/kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/price/work_on_device.h"

namespace mansard::model {
namespace {

std::string NameOf(const Op& op, const KernelWork& work) {
  std::string name(std::holds_alternative<ExpertsKernel>(work)
                       ? PartName(op.part)
                       : OpKindName(op.kind));
  if (op.group >= 0) absl::StrAppend(&name, "[", op.group, "]");
  return name;
}

void SumTimes(KernelEstimate& kernel) {
  std::array<Seconds, kBoundCount> bounds{};
  for (const OpTime& time : kernel.times) {
    kernel.floor += time.floor;
    kernel.overlapped += time.overlapped;
    kernel.estimate += time.estimate;
    kernel.serial += time.serial;
    kernel.p10 += time.p10;
    kernel.p90 += time.p90;
    for (int i = 0; i < kResourceCount; ++i) {
      const Resource r = static_cast<Resource>(i);
      bounds[static_cast<size_t>(BoundOf(r))] += time.attributed[r];
    }
  }
  kernel.bound = static_cast<Bound>(
      std::max_element(bounds.begin(), bounds.end()) - bounds.begin());
}

// Of the format with most tensor work; of the vector units where there is none.
std::optional<FlopsPerSecond> PeakRate(const OpList& ops,
                                       const Device& device) {
  const auto largest = std::max_element(
      ops.begin(), ops.end(),
      [](const Op& a, const Op& b) { return a.work.tensor < b.work.tensor; });
  const std::optional<Format> format = TensorFormat(*largest);
  return format.has_value() ? device.TensorRate(*format) : device.VectorRate();
}

void SetIntensity(const Device& device, KernelEstimate& kernel) {
  Flops flops;
  Bytes bytes;
  for (const Op& op : kernel.ops) {
    flops += op.work.tensor + op.work.vector;
    bytes += op.work.weights + op.work.kv_read + op.work.kv_write +
             op.work.activations();
  }
  if (bytes > Bytes::Zero()) kernel.intensity = flops / bytes;
  if (const auto rate = PeakRate(kernel.ops, device)) {
    kernel.ridge = *rate / device.HbmBandwidth();
  }
}

}  // namespace

absl::StatusOr<KernelEstimate> EstimateKernel(const KernelSpec& spec,
                                              Violations& violations) {
  const size_t before = violations.all().size();
  CheckKernel(spec.work, spec.fabric, violations);
  if (violations.all().size() != before) {
    return absl::InvalidArgumentError("The kernel breaks rules.");
  }
  ASSIGN_OR_RETURN(const ResolvedFormats resolved, FormatsOf(spec));
  const Device& device = spec.hardware->device();
  KernelEstimate kernel;
  kernel.ops = KernelOps(spec, resolved.formats);
  kernel.times = PriceAll(kernel.ops, {device, *spec.fabric, *spec.stack});
  for (const Op& op : kernel.ops) {
    kernel.names.push_back(NameOf(op, spec.work));
  }
  SumTimes(kernel);
  SetIntensity(device, kernel);
  kernel.assumptions = DeviceAssumptions(device);
  if (resolved.weight_only) {
    kernel.assumptions.push_back(WeightOnlyAssumption(
        {resolved.formats.precision.weights,
         resolved.formats.precision.activations, resolved.formats.compute}));
  }
  return kernel;
}

}  // namespace mansard::model
