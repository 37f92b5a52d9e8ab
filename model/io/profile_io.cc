#include "model/io/profile_io.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/id.h"
#include "model/base/magnitude.h"
#include "model/base/suggest.h"
#include "model/graph/model_graph.h"
#include "model/hardware/default_stack.h"
#include "model/io/derived_stack.h"
#include "model/io/device_io.h"
#include "model/io/revision.h"
#include "model/io/sourced_io.h"
#include "model/io/stack_io.h"

namespace mansard::model {
namespace {

std::vector<Fabric> ResolveFabrics(const v1::HardwareProfile& proto,
                                   const FabricMap& shipped,
                                   Violations& violations) {
  std::vector<Fabric> fabrics;
  for (int i = 0; i < proto.fabric_ids_size(); ++i) {
    const auto found = shipped.find(proto.fabric_ids(i));
    if (found != shipped.end()) {
      fabrics.push_back(found->second);
      continue;
    }
    std::vector<std::string> known;
    for (const auto& [id, fabric] : shipped) known.push_back(id);
    const std::vector<std::string> near =
        ClosestNames(proto.fabric_ids(i), known);
    violations.Add(
        Indexed("fabric_ids", static_cast<size_t>(i)),
        absl::StrCat("\"", proto.fabric_ids(i), "\" is unknown; ",
                     near.empty() ? "known: " : "closest: ",
                     absl::StrJoin(near.empty() ? known : near, ", ")));
  }
  for (int i = 0; i < proto.fabrics_size(); ++i) {
    Violations::Scope scope(violations,
                            Indexed("fabrics", static_cast<size_t>(i)));
    std::optional<Fabric> fabric =
        FabricFromProto(proto.fabrics(i), violations);
    if (fabric) fabrics.push_back(*std::move(fabric));
  }
  return fabrics;
}

AchievedFractions AchievedFromProto(const v1::HardwareProfile& proto,
                                    Violations& violations) {
  AchievedFractions achieved;
  const std::pair<const char*, std::optional<Sourced<double>>*> kFamilies[] = {
      {"gemm-16bit", &achieved.gemm_16bit},
      {"gemm-8bit", &achieved.gemm_8bit},
      {"gemm-4bit", &achieved.gemm_4bit}};
  for (int i = 0; i < proto.achieved_fractions_size(); ++i) {
    const v1::AchievedFraction& read = proto.achieved_fractions(i);
    Violations::Scope scope(
        violations, Indexed("achieved_fractions", static_cast<size_t>(i)));
    Sourced<double> ratio =
        SourcedFromProto<double>(read.ratio(), "ratio", violations);
    CheckFraction("ratio", ratio.value, violations);
    bool known = false;
    for (const auto& [family, slot] : kFamilies) {
      if (read.family() != family) continue;
      known = true;
      if (*slot) {
        violations.Add("family",
                       absl::StrCat("\"", family, "\" is there already"));
      }
      *slot = ratio;
    }
    if (!known) {
      violations.Add("family", absl::StrCat("is \"", read.family(),
                                            "\"; allowed: gemm-16bit, "
                                            "gemm-8bit, gemm-4bit"));
    }
  }
  // Stacks that derive from the generic one do not replace it.
  const bool has_own = std::any_of(
      proto.kernel_stacks().begin(), proto.kernel_stacks().end(),
      [](const v1::KernelStack& stack) { return stack.base_stack().empty(); });
  if (proto.achieved_fractions_size() > 0 && has_own) {
    violations.Add("achieved_fractions",
                   "are for the generic stack of a profile without "
                   "kernel_stacks, and this one has some");
  }
  return achieved;
}

// `previous` is the link before it; null for the first.
Link LinkFromProto(const v1::Link& proto, const Link* previous,
                   Violations& violations) {
  Link link;
  link.bandwidth = SourcedFromProto<BytesPerSecond>(
      proto.bandwidth_bytes_per_second(), "bandwidth_bytes_per_second",
      violations);
  if (proto.has_pair_bandwidth_bytes_per_second()) {
    link.pair_bandwidth = SourcedFromProto<BytesPerSecond>(
        proto.pair_bandwidth_bytes_per_second(),
        "pair_bandwidth_bytes_per_second", violations);
  }
  link.domain_devices = proto.domain_device_count();
  link.in_network_reduction = proto.in_network_reduction();
  if (const std::optional<LinkTier> tier = ParseLinkTier(proto.tier())) {
    link.tier = *tier;
    return link;
  }
  violations.Add("tier", absl::StrCat("is \"", proto.tier(),
                                      "\"; allowed: nvlink, pcie, rdma"));
  // The next tier in order stands in, with a domain that suits it, so that
  // nothing else is said of a tier that nobody knows.
  const bool first = previous == nullptr;
  link.tier = first                                 ? LinkTier::kNvlink
              : previous->tier == LinkTier::kNvlink ? LinkTier::kPcie
                                                    : LinkTier::kRdma;
  link.domain_devices = link.tier == LinkTier::kRdma ? 0 : 2;
  return link;
}

}  // namespace

std::optional<Fabric> FabricFromProto(const v1::Fabric& proto,
                                      Violations& violations) {
  const size_t before = violations.all().size();
  FabricSpec spec{
      .id = proto.fabric(), .display_name = proto.display_name(), .links = {}};
  for (int i = 0; i < proto.links_size(); ++i) {
    Violations::Scope scope(violations,
                            Indexed("links", static_cast<size_t>(i)));
    spec.links.push_back(LinkFromProto(
        proto.links(i), spec.links.empty() ? nullptr : &spec.links.back(),
        violations));
  }
  std::optional<Fabric> fabric = Fabric::Create(std::move(spec), violations);
  if (violations.all().size() != before) return std::nullopt;
  return fabric;
}

v1::Fabric FabricToProto(const Fabric& fabric) {
  v1::Fabric proto;
  proto.set_fabric(fabric.spec().id);
  proto.set_display_name(fabric.spec().display_name);
  for (const Link& link : fabric.spec().links) {
    v1::Link& added = *proto.add_links();
    added.set_tier(std::string(LinkTierName(link.tier)));
    *added.mutable_bandwidth_bytes_per_second() =
        SourcedToProto(link.bandwidth);
    if (link.pair_bandwidth) {
      *added.mutable_pair_bandwidth_bytes_per_second() =
          SourcedToProto(*link.pair_bandwidth);
    }
    added.set_domain_device_count(link.domain_devices);
    added.set_in_network_reduction(link.in_network_reduction);
  }
  return proto;
}

namespace {

// Those that name a base, in the proto's order, after all others.
void AddDerivedStacks(const v1::HardwareProfile& proto,
                      std::vector<KernelStack>& stacks,
                      Violations& violations) {
  for (int i = 0; i < proto.kernel_stacks_size(); ++i) {
    const v1::KernelStack& derived = proto.kernel_stacks(i);
    if (derived.base_stack().empty()) continue;
    Violations::Scope scope(violations,
                            Indexed("kernel_stacks", static_cast<size_t>(i)));
    const auto base =
        std::find_if(stacks.begin(), stacks.end(), [&](const KernelStack& s) {
          return s.spec().id == derived.base_stack();
        });
    if (base == stacks.end()) {
      violations.Add("base_stack",
                     absl::StrCat("\"", derived.base_stack(),
                                  "\" is no stack that stands before this "
                                  "one"));
      continue;
    }
    std::optional<KernelStack> stack =
        KernelStackFromProto(WithBase(derived, *base), violations);
    if (stack) stacks.push_back(*std::move(stack));
  }
}

}  // namespace

std::optional<HardwareProfile> ProfileFromProto(
    const v1::HardwareProfile& proto, absl::string_view id,
    const FabricMap& shipped, Violations& violations) {
  const size_t before = violations.all().size();
  if (!id.empty() && !IsValidId(id)) {
    violations.Add("name", absl::StrCat("has id \"", id,
                                        "\"; allowed: 1 to 63 lower-case "
                                        "letters, digits, \"-\", \".\""));
  }
  std::optional<Device> device;
  if (proto.has_device()) {
    Violations::Scope scope(violations, "device");
    device = DeviceFromProto(proto.device(), violations);
  } else {
    AddRequired("device", violations);
  }
  std::vector<Fabric> fabrics = ResolveFabrics(proto, shipped, violations);
  const AchievedFractions achieved = AchievedFromProto(proto, violations);
  std::vector<KernelStack> stacks;
  for (int i = 0; i < proto.kernel_stacks_size(); ++i) {
    if (!proto.kernel_stacks(i).base_stack().empty()) continue;
    Violations::Scope scope(violations,
                            Indexed("kernel_stacks", static_cast<size_t>(i)));
    std::optional<KernelStack> stack =
        KernelStackFromProto(proto.kernel_stacks(i), violations);
    if (stack) stacks.push_back(*std::move(stack));
  }
  if (violations.all().size() != before) {
    // The profile's own rules cannot be checked on parts that do not exist;
    // what the message alone shows is still said.
    if (proto.fabrics_size() + proto.fabric_ids_size() == 0) {
      violations.Add("fabrics", "is empty; at least one is needed");
    }
    return std::nullopt;
  }
  if (stacks.empty()) {
    Violations::Scope scope(violations, "kernel_stacks");
    std::optional<KernelStack> generic =
        DefaultStack(*device, fabrics, achieved, violations);
    if (!generic) return std::nullopt;
    stacks.push_back(*std::move(generic));
  }
  AddDerivedStacks(proto, stacks, violations);
  if (violations.all().size() != before) return std::nullopt;
  return HardwareProfile::Create(std::string(id), proto.display_name(),
                                 *std::move(device), std::move(fabrics),
                                 std::move(stacks), violations);
}

v1::HardwareProfile ProfileToProto(const HardwareProfile& profile) {
  v1::HardwareProfile proto;
  *proto.mutable_device() = DeviceToProto(profile.device());
  for (const Fabric& fabric : profile.fabrics()) {
    *proto.add_fabrics() = FabricToProto(fabric);
  }
  for (const KernelStack& stack : profile.stacks()) {
    *proto.add_kernel_stacks() = KernelStackToProto(stack);
  }
  // A derived stack was written out like any other: the answer shows what is
  // used, and reads back as the same profile.
  // The hash covers what is set so far: the content without its labels.
  proto.set_revision_id(RevisionOf(proto));
  if (!profile.id().empty()) {
    proto.set_name(absl::StrCat("hardwareProfiles/", profile.id()));
  }
  proto.set_display_name(profile.display_name());
  return proto;
}

}  // namespace mansard::model
