#include "model/estimate/kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/kernel_collective.h"
#include "model/estimate/link_factor.h"
#include "model/price/scaled_hardware.h"
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

// That a collective crosses.
std::vector<LinkTier> TiersOf(const KernelSpec& spec) {
  const auto* kernel = std::get_if<CollectiveKernel>(&spec.work);
  if (kernel == nullptr) return {};
  std::vector<LinkTier> tiers = {TierOf(*kernel, *spec.fabric)};
  const int node_ranks = kernel->ranks / NodesOf(*kernel, *spec.fabric);
  const Link* inside =
      node_ranks > 1 ? spec.fabric->LinkFor(node_ranks) : nullptr;
  if (inside != nullptr && inside->tier != tiers.front()) {
    tiers.push_back(inside->tier);
  }
  return tiers;
}

// With the fabric's rates; null where they are the stack's own.
std::shared_ptr<const KernelStack> StackFor(const KernelSpec& spec) {
  std::shared_ptr<const KernelStack> stack;
  for (LinkTier tier : TiersOf(spec)) {
    const double factor = LinkFactor(*spec.hardware, *spec.fabric, tier);
    if (factor == 1) continue;
    stack = std::make_shared<const KernelStack>(
        WithLinkRates(stack != nullptr ? *stack : *spec.stack, tier, factor,
                      spec.fabric->spec().links.front().tier));
  }
  return stack;
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
  kernel.stack = StackFor(spec);
  const HardwareView view{
      device, *spec.fabric,
      kernel.stack != nullptr ? *kernel.stack : *spec.stack};
  if (const auto* collective = std::get_if<CollectiveKernel>(&spec.work)) {
    CheckAlgorithm(*collective, kernel.ops.front(), view, violations);
    if (violations.all().size() != before) {
      return absl::InvalidArgumentError("The kernel breaks rules.");
    }
  }
  kernel.times = PriceAll(kernel.ops, view);
  for (const Op& op : kernel.ops) {
    kernel.names.push_back(NameOf(op, spec.work));
  }
  SumTimes(kernel);
  SetIntensity(device, kernel);
  kernel.assumptions = DeviceAssumptions(device);
  for (LinkTier tier : TiersOf(spec)) {
    const double factor = LinkFactor(*spec.hardware, *spec.fabric, tier);
    if (factor != 1) {
      kernel.assumptions.push_back(LinkFactorAssumption(tier, factor));
    }
  }
  if (resolved.weight_only) {
    kernel.assumptions.push_back(WeightOnlyAssumption(
        {resolved.formats.precision.weights,
         resolved.formats.precision.activations, resolved.formats.compute}));
  }
  return kernel;
}

}  // namespace mansard::model
