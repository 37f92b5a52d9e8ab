#include "model/hardware/fabric.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/id.h"
#include "model/base/magnitude.h"

namespace mansard::model {
namespace {

constexpr LinkTier kTiers[] = {LinkTier::kNvlink, LinkTier::kPcie,
                               LinkTier::kRdma};
static_assert(sizeof(kTiers) / sizeof(kTiers[0]) == kLinkTierCount);

// More devices than any fabric that a node could have.
constexpr int kMaxDomain = 1 << 20;

void CheckLink(const Link& link, Violations& violations) {
  const double bandwidth = link.bandwidth.value.value();
  CheckPositive("bandwidth_bytes_per_second", "", bandwidth, violations);
  if (link.pair_bandwidth) {
    const double pair = link.pair_bandwidth->value.value();
    if (!(pair >= kLeastMagnitude && pair <= bandwidth)) {
      violations.Add("pair_bandwidth_bytes_per_second",
                     absl::StrFormat("is %g; must be positive and at most "
                                     "bandwidth_bytes_per_second, %g",
                                     pair, bandwidth));
    }
  }
  if (link.tier == LinkTier::kRdma) {
    if (link.domain_devices != 0) {
      violations.Add("domain_device_count",
                     absl::StrCat("is ", link.domain_devices,
                                  "; rdma has no limit and takes 0"));
    }
  } else {
    violations.CheckRange("domain_device_count", link.domain_devices, 2,
                          kMaxDomain);
  }
}

}  // namespace

absl::string_view LinkTierName(LinkTier tier) {
  switch (tier) {
    case LinkTier::kNvlink:
      return "nvlink";
    case LinkTier::kPcie:
      return "pcie";
    case LinkTier::kRdma:
      return "rdma";
  }
  return "";
}

std::optional<LinkTier> ParseLinkTier(absl::string_view name) {
  for (LinkTier tier : kTiers) {
    if (LinkTierName(tier) == name) return tier;
  }
  return std::nullopt;
}

BytesPerSecond Link::BandwidthAmong(int ranks) const {
  if (!pair_bandwidth) return bandwidth.value;
  return Min(bandwidth.value, pair_bandwidth->value * (ranks - 1.0));
}

std::optional<Fabric> Fabric::Create(FabricSpec spec, Violations& violations) {
  const size_t before = violations.all().size();
  if (!IsValidId(spec.id)) {
    violations.Add("fabric", absl::StrCat("is \"", spec.id,
                                          "\"; allowed: 1 to 63 lower-case "
                                          "letters, digits, \"-\", \".\""));
  }
  if (spec.links.empty()) {
    violations.Add("links", "is empty; at least one is needed");
  }
  for (size_t i = 0; i < spec.links.size(); ++i) {
    Violations::Scope scope(violations, Indexed("links", i));
    if (i > 0 && spec.links[i].tier <= spec.links[i - 1].tier) {
      violations.Add(
          "tier", absl::StrCat("is ", LinkTierName(spec.links[i].tier),
                               " after ", LinkTierName(spec.links[i - 1].tier),
                               "; the order is nvlink, pcie, rdma, "
                               "each at most once"));
    }
    CheckLink(spec.links[i], violations);
  }
  if (violations.all().size() != before) return std::nullopt;
  return Fabric(std::move(spec));
}

const Link* Fabric::LinkFor(int devices) const {
  for (const Link& link : spec_.links) {
    if (link.tier != LinkTier::kRdma && devices <= link.domain_devices) {
      return &link;
    }
  }
  return nullptr;
}

const Link* Fabric::FindLink(LinkTier tier) const {
  for (const Link& link : spec_.links) {
    if (link.tier == tier) return &link;
  }
  return nullptr;
}

int Fabric::NodeDevices() const {
  int devices = 1;
  for (const Link& link : spec_.links) {
    devices = std::max(devices, link.domain_devices);
  }
  return devices;
}

}  // namespace mansard::model
