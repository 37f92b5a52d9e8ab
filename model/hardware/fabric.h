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
  // What two devices alone can use of it, where each peer has links of its own
  // (a mesh, a torus). Empty: all of it (a switch).
  std::optional<Sourced<BytesPerSecond>> pair_bandwidth;
  int domain_devices = 0;  // 0: no limit (rdma).
  bool in_network_reduction = false;

  // What one of `ranks` devices can use when they talk only to each other:
  // links to devices outside stay idle. An upper bound on a torus, where not
  // every pair has a link. Precondition: at least 2 ranks.
  BytesPerSecond BandwidthAmong(int ranks) const;
};

struct FabricSpec {
  std::string id;
  std::string display_name;
  std::vector<Link> links;  // Nearest tier first.
};

class Fabric {
 public:
  // Rules: at least one link, tiers in order and at most once each, positive
  // bandwidths, none of a pair above the device's, domains of at least 2
  // (rdma: 0).
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
