// What connects devices: a property of the cluster, not of the chip.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/base/units.h"
#include "model/base/violations.h"
#include "model/hardware/provenance.h"

namespace mansard::model {

enum class LinkTier { kNvlink, kPcie, kRdma };
inline constexpr int kLinkTierCount = 3;
absl::string_view LinkTierName(LinkTier tier);
std::optional<LinkTier> ParseLinkTier(absl::string_view name);

struct Link {
  LinkTier tier = LinkTier::kPcie;
  // One device, one direction, all its links of the tier together.
  Sourced<BytesPerSecond> bandwidth;
  int domain_devices = 0;  // 0: no limit (rdma).
  bool in_network_reduction = false;
};

struct FabricSpec {
  std::string id;
  std::string display_name;
  std::vector<Link> links;  // Nearest tier first.
};

class Fabric {
 public:
  // Rules: at least one link, tiers in order and at most once each, positive
  // bandwidths, domains of at least 2 (rdma: 0).
  static std::optional<Fabric> Create(FabricSpec spec, Violations& violations);

  const FabricSpec& spec() const { return spec_; }
  // The nearest tier that joins `devices` devices inside a node; null where
  // none does.
  const Link* LinkFor(int devices) const;
  const Link* FindLink(LinkTier tier) const;
  // Most devices that one node joins.
  int NodeDevices() const;

 private:
  explicit Fabric(FabricSpec spec) : spec_(std::move(spec)) {}
  FabricSpec spec_;
};

}  // namespace mansard::model
