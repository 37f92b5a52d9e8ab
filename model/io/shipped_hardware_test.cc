// Facts of every shipped device and fabric, typed from the sources and not
// from the data files.

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ShippedData& Shipped() {
  static const ShippedData* const kData = [] {
    absl::StatusOr<ShippedData> data = LoadShippedData();
    EXPECT_TRUE(data.ok()) << data.status();
    return new ShippedData(*std::move(data));
  }();
  return *kData;
}

// TFLOP/s dense, GB/s, GB in decimal units; scale-up one way. 0: none.
struct Facts {
  const char* id;
  double bf16, fp16, fp8, int8, fp4;
  double hbm_bandwidth, hbm_capacity;
  double scale_up;
};
constexpr Facts kFacts[] = {
    {"a10", 125, 125, 0, 250, 0, 600, 24, 0},
    {"a100-pcie-40gb", 312, 312, 0, 624, 0, 1555, 40, 0},
    {"a100-pcie-80gb", 312, 312, 0, 624, 0, 1935, 80, 0},
    {"a100-sxm-40gb", 312, 312, 0, 624, 0, 1555, 40, 300},
    {"a100-sxm-80gb", 312, 312, 0, 624, 0, 2039, 80, 300},
    {"a30", 165, 165, 0, 330, 0, 933, 24, 0},
    {"b200-sxm", 2250, 2250, 4500, 4500, 9000, 8000, 192.3, 900},
    {"b300-sxm", 2250, 2250, 4500, 153.5, 13500, 8000, 288.40, 900},
    {"cpu-avx512", 0, 0, 0, 0, 0, 32, 25.77, 0},
    {"gaudi-2", 432, 0, 865, 0, 0, 2460, 96, 262.5},
    {"gaudi-3", 1677, 459, 1677, 0, 0, 3700, 128, 525},
    {"gb200", 2500, 2500, 5000, 5000, 10000, 8000, 198.67, 900},
    {"gb300", 2500, 2500, 5000, 165, 15000, 8000, 298.01, 900},
    {"gh200-144gb", 989, 989, 1979, 1979, 0, 4800, 141, 0},
    {"gh200-96gb", 989, 989, 1979, 1979, 0, 4000, 96, 0},
    {"h100-pcie", 756, 756, 1513, 1513, 0, 2000, 80, 0},
    {"h100-sxm", 989, 989, 1979, 1979, 0, 3350, 85.02, 450},
    {"h20", 148, 148, 296, 0, 0, 4096, 96, 450},
    {"h200-sxm", 989, 989, 1979, 1979, 0, 4800, 150.7, 450},
    {"h800-sxm", 989, 989, 1979, 0, 0, 3350, 80, 200},
    {"l4", 121, 121, 242, 242, 0, 300, 24, 0},
    {"l40", 181, 181, 0, 362, 0, 864, 48, 0},
    {"l40s", 362, 362, 733, 733, 0, 864, 48.31, 0},
    {"mi210", 181, 181, 0, 181, 0, 1638, 64, 0},
    // One of two dies: half of 383 TFLOP/s, 3280 GB/s, 128 GB, 350 GB/s.
    {"mi250x", 191.5, 191.5, 0, 191.5, 0, 1640, 64, 175},
    {"mi300x", 1307, 1307, 2615, 2600, 0, 5300, 192, 448},
    {"mi325x", 1307, 1307, 2615, 2600, 0, 6000, 256, 448},
    {"mi355x", 2516, 2516, 5033, 5000, 10066, 8000, 288, 535.5},
    {"rtx-3090", 71.2, 71.2, 0, 0, 0, 936, 24, 0},
    {"rtx-4090", 165.2, 165.2, 330.3, 660.6, 0, 1008, 24, 0},
    {"rtx-5090", 209.5, 209.5, 419, 838, 1676, 1792, 32, 0},
    {"rtx-pro-6000", 503.8, 503.8, 1007, 1007, 2015, 1792, 102.64, 0},
    {"t4", 0, 65, 0, 130, 0, 320, 16, 0},
    {"tpu-v5e", 197, 0, 0, 393, 0, 819, 16, 200},
    {"tpu-v5p", 459, 0, 459, 918, 0, 2765, 95, 600},
    {"tpu-v6e", 918, 0, 918, 1836, 0, 1638, 32, 400},
    {"tpu-v7", 2307, 0, 4614, 0, 0, 7370, 192, 600},
    {"v100-pcie-16gb", 0, 112, 0, 0, 0, 900, 16, 0},
    {"v100-sxm-32gb", 0, 125, 0, 0, 0, 900, 32, 150},
};

double Teraflops(const Device& device, Format format) {
  return device.HasTensor(format) ? device.TensorRate(format).value() / 1e12
                                  : 0;
}

TEST(ShippedHardwareTest, DevicesHaveTheNumbersOfTheirSources) {
  EXPECT_EQ(Shipped().profiles.size(), std::size(kFacts));
  for (const Facts& facts : kFacts) {
    SCOPED_TRACE(facts.id);
    ASSERT_EQ(Shipped().profiles.count(facts.id), 1u);
    const HardwareProfile& profile = *Shipped().profiles.at(facts.id);
    const Device& device = profile.device();
    EXPECT_DOUBLE_EQ(Teraflops(device, Format::kBf16), facts.bf16);
    EXPECT_DOUBLE_EQ(Teraflops(device, Format::kFp16), facts.fp16);
    EXPECT_DOUBLE_EQ(Teraflops(device, Format::kFp8E4m3), facts.fp8);
    EXPECT_DOUBLE_EQ(Teraflops(device, Format::kInt8), facts.int8);
    EXPECT_DOUBLE_EQ(Teraflops(device, Format::kMxfp4), facts.fp4);
    EXPECT_EQ(device.HasTensor(Format::kNvfp4),
              facts.fp4 > 0 && device.spec().vendor == "NVIDIA");
    EXPECT_DOUBLE_EQ(device.HbmBandwidth().value() / 1e9, facts.hbm_bandwidth);
    EXPECT_NEAR(ToGigabytes(device.HbmCapacity()), facts.hbm_capacity, .005);
    const Link* link = profile.fabrics()[0].FindLink(LinkTier::kNvlink);
    EXPECT_DOUBLE_EQ(link == nullptr ? 0 : link->bandwidth.value.value() / 1e9,
                     facts.scale_up);
  }
}

// What the rate is missing for is said by Device, so it is never zero.
TEST(ShippedHardwareTest, WhatNoSourceGivesIsLeftOut) {
  const auto missing = [](const auto& has) {
    std::vector<std::string> ids;
    for (const auto& [id, profile] : Shipped().profiles) {
      if (!has(profile->device())) ids.push_back(id);
    }
    return ids;
  };
  EXPECT_THAT(
      missing([](const Device& d) { return d.VectorRate().has_value(); }),
      ::testing::ElementsAre("gaudi-2", "gaudi-3", "h20", "h800-sxm", "tpu-v5e",
                             "tpu-v5p", "tpu-v6e", "tpu-v7"));
  EXPECT_THAT(missing([](const Device& d) {
                return d.spec().multiprocessor_count.has_value();
              }),
              ::testing::ElementsAre("gaudi-2", "gaudi-3", "tpu-v7"));
  EXPECT_THAT(
      missing([](const Device& d) { return d.spec().clock_hertz.has_value(); }),
      ::testing::ElementsAre("cpu-avx512", "gb300", "gh200-144gb", "tpu-v5e",
                             "tpu-v5p", "tpu-v6e", "tpu-v7"));
  EXPECT_THAT(
      missing([](const Device& d) { return d.HasTensor(Format::kBf16); }),
      ::testing::ElementsAre("cpu-avx512", "t4", "v100-pcie-16gb",
                             "v100-sxm-32gb"));
}

TEST(ShippedHardwareTest, RatesPassTheLintOrSayWhy) {
  std::vector<std::string> explained;
  for (const auto& [id, profile] : Shipped().profiles) {
    const Device& device = profile->device();
    EXPECT_THAT(device.Lint(), IsEmpty()) << id;
    if (device.spec().peak_rate_note.empty()) continue;
    explained.push_back(id);
    // No note without a reason: the lint finds what it explains.
    DeviceSpec bare = device.spec();
    bare.peak_rate_note.clear();
    Violations violations;
    EXPECT_EQ(Device::Create(bare, violations)->Lint().size(), 1u) << id;
  }
  EXPECT_THAT(explained,
              ::testing::ElementsAre("b300-sxm", "gh200-96gb", "h100-pcie",
                                     "h20", "h800-sxm", "l4"));
}

// Measured fractions replace the rule's; 0: no family.
TEST(ShippedHardwareTest, GenericStacksFollowTheRulesAndTheMeasurements) {
  struct {
    const char* id;
    double peak16, peak8, peak4;
  } const kCases[] = {
      {"a100-pcie-80gb", .81, .65, .55}, {"a100-sxm-40gb", .87, .65, .55},
      {"h100-pcie", .75, .65, 0},        {"gh200-96gb", .84, .78, 0},
      {"b300-sxm", .78, .75, .42},       {"gb200", .73, .72, .62},
      {"gb300", .75, .65, .42},          {"rtx-pro-6000", .75, .65, .72},
      {"mi300x", .51, .65, 0},           {"mi325x", .60, .65, 0},
      {"mi355x", .62, .65, .55},         {"gaudi-2", .97, .955, 0},
      {"gaudi-3", .74, .77, 0},          {"tpu-v5e", .75, .65, 0},
      {"v100-sxm-32gb", .75, 0, 0},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.id);
    const KernelStack& stack = *Shipped().profiles.at(test.id)->FindStack("");
    EXPECT_EQ(stack.spec().id, "generic");
    const auto peak = [&](const char* id) {
      for (const GemmFamily& family : stack.spec().gemm) {
        if (family.facts.id == id) return family.peak_fraction;
      }
      return 0.0;
    };
    EXPECT_EQ(peak("gemm-16bit"), test.peak16);
    EXPECT_EQ(peak("gemm-8bit"), test.peak8);
    EXPECT_EQ(peak("gemm-4bit"), test.peak4);
  }
}

TEST(ShippedHardwareTest, EveryStackServesTheTiersOfItsFabrics) {
  for (const auto& [id, profile] : Shipped().profiles) {
    for (const Fabric& fabric : profile->fabrics()) {
      for (const Link& link : fabric.spec().links) {
        if (link.tier == LinkTier::kRdma) continue;
        EXPECT_TRUE(profile->FindStack("")
                        ->spec()
                        .collectives[static_cast<size_t>(link.tier)])
            << id << " " << fabric.spec().id << " " << LinkTierName(link.tier);
      }
    }
  }
}

struct FabricFacts {
  const char* id;
  double nvlink, pair, pcie, rdma;  // GB/s, one way, one device; 0: none.
  int nvlink_devices;
  bool sums;
};

TEST(ShippedHardwareTest, FabricsHaveTheirLinks) {
  const FabricFacts kFabrics[] = {
      {"ethernet-25g", 0, 0, 0, 3.125, 0, false},
      {"gaudi-2-mesh", 262.5, 37.5, 0, 37.5, 8, false},
      {"gaudi-3-mesh", 525, 75, 0, 75, 8, false},
      {"h800-nvlink4-400g", 200, 0, 63, 50, 8, true},
      {"hgx-nvlink2-100g", 150, 0, 15.7538, 12.5, 8, false},
      {"hgx-nvlink3-200g", 300, 0, 31, 25, 8, false},
      {"hgx-nvlink3-400g", 300, 0, 31, 50, 8, false},
      {"hgx-nvlink4-200g", 450, 0, 63, 25, 8, true},
      {"hgx-nvlink4-400g", 450, 0, 63, 50, 8, true},
      {"hgx-nvlink5-200g", 900, 0, 63, 25, 8, true},
      {"hgx-nvlink5-400g", 900, 0, 63, 50, 8, true},
      {"hgx-nvlink5-800g", 900, 0, 63, 100, 8, true},
      {"mi250x-mesh-200g", 175, 50, 15.5, 12.5, 8, false},
      {"mi300x-mesh-400g", 448, 64, 63, 50, 8, false},
      {"mi355x-mesh-400g", 535.5, 76.5, 63, 50, 8, false},
      {"nvl72-400g", 900, 0, 63, 50, 72, true},
      {"nvl72-800g", 900, 0, 63, 100, 72, true},
      {"pcie3-100g", 0, 0, 15.7538, 12.5, 0, false},
      {"pcie4-200g", 0, 0, 31, 25, 0, false},
      {"pcie4-400g", 0, 0, 31, 50, 0, false},
      {"pcie5-200g", 0, 0, 63, 25, 0, false},
      {"pcie5-400g", 0, 0, 63, 50, 0, false},
      {"superchip-400g", 0, 0, 0, 50, 0, false},
      {"tpu-v5e-torus", 200, 50, 0, 3.125, 256, false},
      {"tpu-v5p-torus", 600, 100, 0, 6.25, 8960, false},
      {"tpu-v6e-torus", 400, 100, 0, 0, 256, false},
      {"tpu-v7-torus", 600, 100, 0, 0, 9216, false},
  };
  EXPECT_EQ(Shipped().fabrics.size(), std::size(kFabrics));
  for (const FabricFacts& facts : kFabrics) {
    SCOPED_TRACE(facts.id);
    const Fabric& fabric = Shipped().fabrics.at(facts.id);
    const auto rate = [&](LinkTier tier) {
      const Link* link = fabric.FindLink(tier);
      return link == nullptr ? 0 : link->bandwidth.value.value() / 1e9;
    };
    EXPECT_EQ(rate(LinkTier::kNvlink), facts.nvlink);
    EXPECT_NEAR(rate(LinkTier::kPcie), facts.pcie, .01);
    EXPECT_EQ(rate(LinkTier::kRdma), facts.rdma);
    const Link* scale_up = fabric.FindLink(LinkTier::kNvlink);
    if (scale_up == nullptr) continue;
    EXPECT_EQ(scale_up->domain_devices, facts.nvlink_devices);
    EXPECT_EQ(scale_up->in_network_reduction, facts.sums);
    EXPECT_EQ(scale_up->BandwidthAmong(2),
              GigabytesPerSecond(facts.pair > 0 ? facts.pair : facts.nvlink));
    // All of a domain can use all of the device's links.
    EXPECT_EQ(scale_up->BandwidthAmong(scale_up->domain_devices),
              GigabytesPerSecond(facts.nvlink));
  }
}

}  // namespace
}  // namespace mansard::model
