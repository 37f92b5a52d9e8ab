#include "model/price/scaled_hardware.h"

#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/hardware/family_parameters.h"
#include "model/hardware/fine_slots.h"

namespace mansard::model {
namespace {

// The parts' own rules hold for other rates, too: what could not be made is as
// it was.
template <class Part, class Spec>
Part Made(Spec spec, const Part& before) {
  Violations violations;
  std::optional<Part> made = Part::Create(std::move(spec), violations);
  return made.has_value() ? *std::move(made) : before;
}

template <class Rates>
void ScaleRates(Rates& rates, double factor) {
  for (auto& rate : rates) {
    if (rate.has_value()) rate->value *= factor;
  }
}

void ScaleLevel(std::optional<MemoryLevel>& level, double factor) {
  if (level.has_value() && level->bandwidth.has_value()) {
    level->bandwidth->value *= factor;
  }
}

Device FasterDevice(const Device& device, Resource resource, double factor) {
  DeviceSpec spec = device.spec();
  switch (resource) {
    case Resource::kTensor:
      ScaleRates(spec.tensor_rates, factor);
      break;
    case Resource::kVector:
      ScaleRates(spec.vector_rates, factor);
      break;
    case Resource::kSfu:
      if (spec.special_function_rate.has_value()) {
        spec.special_function_rate->value *= factor;
      }
      break;
    case Resource::kSmem:
      ScaleLevel(spec.smem, factor);
      break;
    case Resource::kL2:
      ScaleLevel(spec.l2, factor);
      break;
    case Resource::kHbm:
      spec.hbm.bandwidth->value *= factor;
      break;
    case Resource::kNvlink:
    case Resource::kPcie:
    case Resource::kRdma:
    case Resource::kLaunch:
    case Resource::kSync:
    case Resource::kHost:
      return device;
  }
  return Made(std::move(spec), device);
}

Fabric FasterFabric(const Fabric& fabric, Resource resource, double factor) {
  FabricSpec spec = fabric.spec();
  for (Link& link : spec.links) {
    if (ResourceOf(link.tier) != resource) continue;
    link.bandwidth.value *= factor;
    if (link.pair_bandwidth.has_value()) link.pair_bandwidth->value *= factor;
  }
  return Made(std::move(spec), fabric);
}

// Where the time is attributed that a parameter sets; empty for what scales
// another time, or none. `tier`: of collectives and exchanges.
std::optional<Resource> ResourceOfParameter(absl::string_view name,
                                            std::optional<LinkTier> tier) {
  if (absl::EndsWith(name, "_bytes_per_second")) {
    if (name == "l2_feed_bytes_per_second") return Resource::kL2;
    if (name == "sm_smem_feed_bytes_per_second") return Resource::kSmem;
    if (!tier.has_value()) return Resource::kHbm;
    // Multiprocessors that move tokens count as a chain of steps.
    if (absl::EndsWith(name, "feed_bytes_per_second")) return Resource::kSync;
    return ResourceOf(*tier);
  }
  if (!absl::EndsWith(name, "_seconds")) return std::nullopt;
  if (name == "launch_seconds" || name == "sort_seconds") {
    return Resource::kLaunch;
  }
  // Where a share of the tensor time is reached.
  if (name == "droop_seconds") return std::nullopt;
  return Resource::kSync;
}

class StackScaling {
 public:
  // `inside`: what connects the devices of a node.
  StackScaling(Resource resource, double factor, LinkTier inside)
      : resource_(resource), factor_(factor), inside_(inside) {}

  KernelStack Of(const KernelStack& stack) const {
    KernelStackSpec spec = stack.spec();
    for (GemmFamily& family : spec.gemm) Scale(family, std::nullopt);
    Scale(spec.attention_decode, std::nullopt);
    Scale(spec.attention_prefill, std::nullopt);
    Scale(spec.elementwise, std::nullopt);
    for (int tier = 0; tier < kLinkTierCount; ++tier) {
      auto& family = spec.collectives[static_cast<size_t>(tier)];
      if (family.has_value()) Scale(*family, static_cast<LinkTier>(tier));
    }
    VisitFine([&](const auto& slot) {
      ScaleTable(slot.key == SlotKey::kTier, spec.fine.*slot.member);
    });
    if (resource_ == Resource::kHost) {
      for (Seconds* time :
           {&spec.host.step, &spec.host.request, &spec.host.prefill_token,
            &spec.host.eager_launch}) {
        *time = *time / factor_;
      }
    }
    return Made(std::move(spec), stack);
  }

 private:
  template <class Family>
  void Scale(Family& family, std::optional<LinkTier> tier) const {
    for (const auto& parameter : Formula<Family>::kParameters) {
      const absl::string_view name = parameter.name;
      std::optional<Resource> resource = ResourceOfParameter(name, tier);
      // An exchange between nodes moves inside them, too.
      if (std::is_same_v<Family, ExpertExchangeFamily> &&
          tier == LinkTier::kRdma && name == "bus_bytes_per_second") {
        resource = ResourceOf(inside_);
      }
      if (resource != resource_) continue;
      const std::optional<double> value = parameter.get(family);
      if (!value.has_value()) continue;
      const bool rate = absl::EndsWith(name, "_per_second");
      parameter.set(family, rate ? *value * factor_ : *value / factor_);
    }
  }

  // A family that serves two tiers is two from here on.
  template <class Table>
  void ScaleTable(bool by_tier, Table& table) const {
    Table scaled;
    for (size_t key = 0; key < Table::kCases; ++key) {
      const auto* family = table.For(key);
      if (family == nullptr) continue;
      auto copy = *family;
      std::optional<LinkTier> tier;
      if (by_tier) {
        tier = static_cast<LinkTier>(key);
        absl::StrAppend(&copy.facts.id, "-", LinkTierName(*tier));
      }
      Scale(copy, tier);
      scaled.Bind(key, copy);
    }
    table = std::move(scaled);
  }

  Resource resource_;
  double factor_;
  LinkTier inside_;
};

}  // namespace

OwnedHardware Faster(const HardwareView& hardware, Resource resource,
                     double factor) {
  return {FasterDevice(hardware.device, resource, factor),
          FasterFabric(hardware.fabric, resource, factor),
          StackScaling(resource, factor, hardware.fabric.spec().links[0].tier)
              .Of(hardware.stack),
          hardware.warm_cache};
}

KernelStack WithLinkRates(const KernelStack& stack, LinkTier tier,
                          double factor, LinkTier inside) {
  return StackScaling(ResourceOf(tier), factor, inside).Of(stack);
}

OwnedHardware WithoutMultiprocessors(const HardwareView& hardware, int taken) {
  DeviceSpec spec = hardware.device.spec();
  const double before = spec.multiprocessor_count->value;
  const double left = (before - taken) / before;
  spec.multiprocessor_count->value = before - taken;
  ScaleRates(spec.tensor_rates, left);
  ScaleRates(spec.vector_rates, left);
  if (spec.special_function_rate.has_value()) {
    spec.special_function_rate->value *= left;
  }
  ScaleLevel(spec.smem, left);
  if (spec.smem.has_value()) spec.smem->capacity.value *= left;
  return {Made(std::move(spec), hardware.device), hardware.fabric,
          hardware.stack, hardware.warm_cache};
}

}  // namespace mansard::model
