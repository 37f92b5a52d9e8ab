#include "model/hardware/hardware_profile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

Device SomeDevice() {
  DeviceSpec spec;
  spec.tensor_rates[static_cast<size_t>(Format::kFp16)] = {
      TeraflopsPerSecond(1), {}};
  spec.vector_rates[static_cast<size_t>(Format::kFp32)] = {
      TeraflopsPerSecond(1), {}};
  spec.hbm = {.capacity = {Gigabytes(1), {}},
              .bandwidth = {{GigabytesPerSecond(1), {}}}};
  Violations violations;
  return *Device::Create(spec, violations);
}

Fabric SomeFabric(const char* id) {
  Link link;
  link.bandwidth.value = GigabytesPerSecond(1);
  link.domain_devices = 2;
  Violations violations;
  return *Fabric::Create({.id = id, .display_name = "", .links = {link}},
                         violations);
}

KernelStack SomeStack(const char* id) {
  const auto facts = [](const char* family) {
    return FamilyFacts{
        .id = family, .tier = Tier::kSpec, .sigma = .1, .provenance = {}};
  };
  const BytesPerSecond feed = GigabytesPerSecond(1);
  KernelStackSpec spec;
  spec.id = id;
  spec.gemm = {{facts("g"), {}, {}, 1, 1, feed, 1, 1}};
  spec.gemm_by_format.fill(0);
  spec.attention_decode = {facts("d"), {}, {}, 1, 1, feed};
  spec.attention_prefill = {facts("p"), {}, {{128, 1}}, 1};
  spec.elementwise = {facts("e"), {}, 1, feed};
  Violations violations;
  return *KernelStack::Create(spec, violations);
}

TEST(HardwareProfileTest, NeedsPartsWithUniqueIds) {
  struct {
    std::vector<Fabric> fabrics;
    std::vector<KernelStack> stacks;
    std::string expected;
  } const kCases[] = {
      {{}, {SomeStack("s")}, "fabrics: is empty"},
      {{SomeFabric("f")}, {}, "kernel_stacks: is empty"},
      {{}, {}, "fabrics: is empty; at least one is needed; kernel_stacks: is"},
      {{SomeFabric("f"), SomeFabric("f")},
       {SomeStack("s"), SomeStack("s")},
       "fabrics[1]: \"f\" is there already; kernel_stacks[1]: \"s\" is"},
  };
  for (const auto& test : kCases) {
    Violations violations;
    EXPECT_FALSE(HardwareProfile::Create("x", "X", SomeDevice(), test.fabrics,
                                         test.stacks, violations));
    EXPECT_THAT(std::string(violations.ToStatus().message()),
                HasSubstr(test.expected));
  }
}

TEST(HardwareProfileTest, AnEmptyIdIsTheFirst) {
  Violations violations;
  const std::optional<HardwareProfile> profile = HardwareProfile::Create(
      "x", "X", SomeDevice(), {SomeFabric("f1"), SomeFabric("f2")},
      {SomeStack("s1"), SomeStack("s2")}, violations);
  ASSERT_TRUE(profile) << violations.ToStatus();
  EXPECT_EQ(profile->FindFabric(""), &profile->fabrics()[0]);
  EXPECT_EQ(profile->FindFabric("f2"), &profile->fabrics()[1]);
  EXPECT_EQ(profile->FindFabric("f3"), nullptr);
  EXPECT_EQ(profile->FindStack(""), &profile->stacks()[0]);
  EXPECT_EQ(profile->FindStack("s2"), &profile->stacks()[1]);
  EXPECT_EQ(profile->FindStack("s3"), nullptr);
}

}  // namespace
}  // namespace mansard::model
