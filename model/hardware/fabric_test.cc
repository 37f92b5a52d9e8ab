#include "model/hardware/fabric.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

Link Of(LinkTier tier, double gigabytes, int devices) {
  Link link;
  link.tier = tier;
  link.bandwidth.value = GigabytesPerSecond(gigabytes);
  link.domain_devices = devices;
  return link;
}

FabricSpec ValidSpec() {
  return {.id = "hgx",
          .display_name = "HGX",
          .links = {Of(LinkTier::kNvlink, 450, 8), Of(LinkTier::kPcie, 63, 16),
                    Of(LinkTier::kRdma, 50, 0)}};
}

Fabric Make(FabricSpec spec) {
  Violations violations;
  std::optional<Fabric> fabric = Fabric::Create(std::move(spec), violations);
  EXPECT_EQ(violations.ToStatus().ToString(), "OK");
  return *fabric;
}

struct BrokenFabric {
  void (*breaks)(FabricSpec&);
  const char* field;
  const char* description;
};

TEST(FabricTest, NamesTheRuleThatIsBroken) {
  const BrokenFabric kCases[] = {
      {[](FabricSpec& s) { s.id = "HGX"; }, "fabric", "is \"HGX\""},
      {[](FabricSpec& s) { s.id = ""; }, "fabric", "is \"\""},
      {[](FabricSpec& s) { s.links.clear(); }, "links", "is empty"},
      {[](FabricSpec& s) { std::swap(s.links[0], s.links[1]); },
       "links[1].tier", "is nvlink after pcie"},
      {[](FabricSpec& s) { s.links[1].tier = LinkTier::kNvlink; },
       "links[1].tier", "each at most once"},
      {[](FabricSpec& s) { s.links[0].bandwidth.value = {}; },
       "links[0].bandwidth_bytes_per_second", "is 0"},
      {[](FabricSpec& s) {
         s.links[2].bandwidth.value = BytesPerSecond::Infinity();
       },
       "links[2].bandwidth_bytes_per_second", "is inf"},
      {[](FabricSpec& s) { s.links[0].domain_devices = 1; },
       "links[0].domain_device_count", "is 1; allowed: 2 to"},
      {[](FabricSpec& s) { s.links[1].domain_devices = -8; },
       "links[1].domain_device_count", "is -8"},
      {[](FabricSpec& s) { s.links[2].domain_devices = 8; },
       "links[2].domain_device_count", "rdma has no limit"},
      {[](FabricSpec& s) {
         s.links[0].pair_bandwidth = {GigabytesPerSecond(451), {}};
       },
       "links[0].pair_bandwidth_bytes_per_second",
       "is 4.51e+11; must be positive and at most "
       "bandwidth_bytes_per_second, 4.5e+11"},
      {[](FabricSpec& s) {
         s.links[0].pair_bandwidth = {BytesPerSecond::Zero(), {}};
       },
       "links[0].pair_bandwidth_bytes_per_second", "is 0"},
      // Positive, but a time over it is no number.
      {[](FabricSpec& s) {
         s.links[0].bandwidth.value = BytesPerSecond::Of(1e-300);
       },
       "links[0].bandwidth_bytes_per_second", "is 1e-300"},
  };
  for (const BrokenFabric& test : kCases) {
    FabricSpec spec = ValidSpec();
    test.breaks(spec);
    Violations violations;
    EXPECT_FALSE(Fabric::Create(spec, violations));
    ASSERT_EQ(violations.all().size(), 1u) << test.field;
    EXPECT_EQ(violations.all()[0].field, test.field);
    EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
  }
}

TEST(FabricTest, NamesAllBrokenRulesAtOnce) {
  FabricSpec spec = ValidSpec();
  spec.id = "a b";
  spec.links[0].bandwidth.value = GigabytesPerSecond(-1);
  spec.links[1].domain_devices = 0;
  Violations violations;
  EXPECT_FALSE(Fabric::Create(spec, violations));
  EXPECT_EQ(violations.all().size(), 3u) << violations.ToStatus();
}

TEST(FabricTest, FindsTheNearestTierThatJoinsAllDevices) {
  const Fabric fabric = Make(ValidSpec());
  struct {
    int devices;
    const Link* link;
  } const kCases[] = {
      {1, fabric.FindLink(LinkTier::kNvlink)},
      {8, fabric.FindLink(LinkTier::kNvlink)},
      {9, fabric.FindLink(LinkTier::kPcie)},
      {16, fabric.FindLink(LinkTier::kPcie)},
      // rdma joins nodes, not devices inside one.
      {17, nullptr},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(fabric.LinkFor(test.devices), test.link) << test.devices;
  }
  EXPECT_EQ(fabric.NodeDevices(), 16);
}

// Eight MI300X: 448 GB/s each, in seven links of 64.
TEST(FabricTest, AMeshGivesFewRanksOnlyTheLinksBetweenThem) {
  Link mesh = Of(LinkTier::kNvlink, 448, 8);
  EXPECT_EQ(mesh.BandwidthAmong(2), GigabytesPerSecond(448));  // A switch.
  mesh.pair_bandwidth = {GigabytesPerSecond(64), {}};
  EXPECT_EQ(mesh.BandwidthAmong(2), GigabytesPerSecond(64));
  EXPECT_EQ(mesh.BandwidthAmong(4), GigabytesPerSecond(192));
  EXPECT_EQ(mesh.BandwidthAmong(8), GigabytesPerSecond(448));
  // A torus has fewer links than peers.
  EXPECT_EQ(mesh.BandwidthAmong(9), GigabytesPerSecond(448));
}

TEST(FabricTest, ATierMayBeAbsent) {
  const Fabric fabric = Make({.id = "nics",
                              .display_name = "",
                              .links = {Of(LinkTier::kRdma, 50, 0)}});
  EXPECT_EQ(fabric.FindLink(LinkTier::kNvlink), nullptr);
  EXPECT_EQ(fabric.LinkFor(2), nullptr);
  EXPECT_EQ(fabric.NodeDevices(), 1);
}

TEST(FabricTest, TierNames) {
  EXPECT_EQ(LinkTierName(LinkTier::kNvlink), "nvlink");
  EXPECT_EQ(ParseLinkTier("pcie"), LinkTier::kPcie);
  EXPECT_EQ(ParseLinkTier("rdma"), LinkTier::kRdma);
  EXPECT_EQ(ParseLinkTier("NVLink"), std::nullopt);
}

}  // namespace
}  // namespace mansard::model
