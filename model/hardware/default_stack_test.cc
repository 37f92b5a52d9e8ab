#include "model/hardware/default_stack.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

void SetTensor(DeviceSpec& spec, Format format, double teraflops) {
  spec.tensor_rates[static_cast<size_t>(format)] = {
      TeraflopsPerSecond(teraflops), {}};
}

DeviceSpec Spec(const char* vendor, const char* architecture,
                double multiprocessors, double hertz) {
  DeviceSpec spec;
  spec.vendor = vendor;
  spec.architecture = architecture;
  if (multiprocessors > 0) spec.multiprocessor_count = {multiprocessors, {}};
  if (hertz > 0) spec.clock_hertz = {hertz, {}};
  SetTensor(spec, Format::kBf16, 989);
  spec.l2 = {.capacity = {Bytes::Of(50e6), {}}, .bandwidth = {}};
  spec.hbm = {.capacity = {Gigabytes(80), {}},
              .bandwidth = {{GigabytesPerSecond(2000), {}}}};
  return spec;
}

// The H100's size, from which the rules scale.
DeviceSpec Reference() { return Spec("NVIDIA", "Hopper sm_90", 132, 1.83e9); }

std::vector<Fabric> Fabrics(std::vector<Link> links) {
  Violations violations;
  return {*Fabric::Create(
      {.id = "f", .display_name = "", .links = std::move(links)}, violations)};
}

Link Of(LinkTier tier, double gigabytes) {
  Link link;
  link.tier = tier;
  link.bandwidth.value = GigabytesPerSecond(gigabytes);
  link.domain_devices = tier == LinkTier::kRdma ? 0 : 8;
  return link;
}

KernelStackSpec StackOf(
    const DeviceSpec& spec, const AchievedFractions& achieved = {},
    const std::vector<Fabric>& fabrics = Fabrics({Of(LinkTier::kPcie, 63)})) {
  Violations violations;
  const std::optional<Device> device = Device::Create(spec, violations);
  const std::optional<KernelStack> stack =
      DefaultStack(*device, fabrics, achieved, violations);
  EXPECT_EQ(violations.ToStatus().ToString(), "OK");
  return stack->spec();
}

TEST(DefaultStackTest, FractionsAndTimesAreTheRules) {
  DeviceSpec spec = Reference();
  SetTensor(spec, Format::kFp8E4m3, 1979);
  SetTensor(spec, Format::kNvfp4, 4000);
  const KernelStackSpec stack = StackOf(spec);
  EXPECT_EQ(stack.id, "generic");
  ASSERT_EQ(stack.gemm.size(), 3u);
  const double kPeaks[] = {.75, .65, .55};
  for (size_t i = 0; i < 3; ++i) {
    const GemmFamily& family = stack.gemm[i];
    EXPECT_EQ(family.peak_fraction, kPeaks[i]) << family.facts.id;
    EXPECT_EQ(family.hbm_fraction, .85);
    EXPECT_NEAR(ToMicroseconds(family.launch + family.wave), 2.67, 1e-9);
    EXPECT_NEAR(family.l2_feed.value() / 1e12, 16.9, 1e-9);
  }
  EXPECT_EQ(stack.attention_decode.hbm_fraction, .90);
  EXPECT_NEAR(ToMicroseconds(stack.attention_decode.launch), 7.4, 1e-9);
  EXPECT_EQ(stack.attention_prefill.PeakFraction(64), .45);
  EXPECT_EQ(stack.attention_prefill.PeakFraction(128), .65);
  EXPECT_EQ(stack.attention_prefill.PeakFraction(192), .75);
  EXPECT_EQ(stack.attention_prefill.PeakFraction(256), .70);
  EXPECT_EQ(stack.elementwise.hbm_fraction, .80);
  for (const FamilyFacts* facts :
       {&stack.gemm[0].facts, &stack.gemm[1].facts, &stack.gemm[2].facts,
        &stack.attention_decode.facts, &stack.attention_prefill.facts,
        &stack.elementwise.facts, &stack.collectives[1]->facts}) {
    EXPECT_EQ(facts->tier, Tier::kSpec) << facts->id;
    EXPECT_EQ(facts->sigma, .35) << facts->id;
    EXPECT_EQ(facts->provenance.kind, ProvenanceKind::kScaled) << facts->id;
    EXPECT_THAT(facts->provenance.source, HasSubstr("generic stack: "));
  }
}

TEST(DefaultStackTest, NarrowFamiliesAreThereForNarrowUnits) {
  using enum Format;
  const auto family = [](const KernelStackSpec& stack, Format format) {
    const int index = stack.gemm_by_format[static_cast<size_t>(format)];
    return stack.gemm[static_cast<size_t>(index)].facts.id;
  };
  const KernelStackSpec plain = StackOf(Reference());
  ASSERT_EQ(plain.gemm.size(), 1u);
  for (Format format : AllFormats()) {
    EXPECT_EQ(family(plain, format), "gemm-16bit") << TraitsOf(format).name;
  }
  DeviceSpec wide = Reference();
  SetTensor(wide, kInt8, 2000);
  SetTensor(wide, kInt4, 4000);
  const KernelStackSpec stack = StackOf(wide);
  for (Format format : {kFp32, kTf32, kBf16, kFp16}) {
    EXPECT_EQ(family(stack, format), "gemm-16bit") << TraitsOf(format).name;
  }
  for (Format format : {kFp8E4m3, kFp8E5m2, kFp8Block, kInt8, kMxfp8}) {
    EXPECT_EQ(family(stack, format), "gemm-8bit") << TraitsOf(format).name;
  }
  for (Format format : {kInt4, kMxfp4, kNvfp4}) {
    EXPECT_EQ(family(stack, format), "gemm-4bit") << TraitsOf(format).name;
  }
  // Vector units alone: a stack all the same.
  DeviceSpec cpu = Reference();
  cpu.tensor_rates = {};
  cpu.vector_rates[static_cast<size_t>(kFp32)] = {TeraflopsPerSecond(1), {}};
  EXPECT_EQ(StackOf(cpu).gemm.size(), 1u);
}

TEST(DefaultStackTest, MeasurementsReplaceFractions) {
  const Provenance kMeasured{ProvenanceKind::kMeasured, "a bench", ""};
  const KernelStackSpec stack =
      StackOf(Reference(), {.gemm_16bit = {{.51, kMeasured}},
                            .gemm_8bit = {{.4, kMeasured}},
                            .gemm_4bit = {}});
  ASSERT_EQ(stack.gemm.size(), 1u);  // No 8-bit unit: nothing to replace.
  EXPECT_EQ(stack.gemm[0].peak_fraction, .51);
  EXPECT_EQ(
      stack.gemm[0].facts.parameter_provenance.at("peak_fraction_ratio").source,
      "a bench");
}

struct FeedCase {
  const char* what;
  DeviceSpec spec;
  double measured_l2;           // TB/s; 0: none.
  double gemm, stream;          // TB/s.
  const char* gemm_provenance;  // Part of its source.
};

TEST(DefaultStackTest, FeedsScaleWithTheDevice) {
  const FeedCase kCases[] = {
      {"the reference", Reference(), 0, 16.9, 7.8, "of the H100"},
      {"twice the size", Spec("NVIDIA", "Blackwell sm_100", 264, 1.83e9), 0,
       33.8, 15.6, "of the H100"},
      {"half the clock", Spec("NVIDIA", "Ada sm_89", 132, .915e9), 0, 8.45, 3.9,
       "of the H100"},
      // Measured: streams run at it, tiles are still multicast.
      {"measured", Reference(), 5, 16.9, 5, "of the H100"},
      // Before multicast.
      {"the A100", Spec("NVIDIA", "Ampere sm_80", 108, 1.41e9), 0, 4.2, 5.4,
       "of the A100"},
      {"half an A100", Spec("NVIDIA", "Volta sm_70", 54, 1.41e9), 0, 2.1, 2.7,
       "of the A100"},
      {"no clock", Spec("NVIDIA", "Hopper sm_90", 132, 0), 0, 8, 8, "4 x HBM"},
      {"another vendor", Spec("AMD", "CDNA3 gfx942", 304, 2.1e9), 0, 8, 8,
       "4 x HBM"},
      {"another vendor, measured", Spec("AMD", "CDNA2 gfx90a", 104, 1.7e9), 5,
       5, 5, "a bench"},
  };
  for (const FeedCase& test : kCases) {
    SCOPED_TRACE(test.what);
    DeviceSpec spec = test.spec;
    if (test.measured_l2 > 0) {
      spec.l2->bandwidth = {GigabytesPerSecond(test.measured_l2 * 1000),
                            {ProvenanceKind::kMeasured, "a bench", ""}};
    }
    const KernelStackSpec stack = StackOf(spec);
    EXPECT_NEAR(stack.gemm[0].l2_feed.value() / 1e12, test.gemm, 1e-9);
    EXPECT_NEAR(stack.attention_decode.l2_feed.value() / 1e12, test.stream,
                1e-9);
    EXPECT_EQ(stack.elementwise.l2_feed, stack.attention_decode.l2_feed);
    EXPECT_THAT(stack.gemm[0]
                    .facts.parameter_provenance.at("l2_feed_bytes_per_second")
                    .source,
                HasSubstr(test.gemm_provenance));
  }
}

// NCCL's ring constants x 1.3; link x 0.65.
TEST(DefaultStackTest, CollectivesComeFromTheFabricsLinks) {
  std::vector<Fabric> fabrics =
      Fabrics({Of(LinkTier::kNvlink, 448), Of(LinkTier::kRdma, 50)});
  // A tier's first fabric counts.
  for (const Fabric& fabric :
       Fabrics({Of(LinkTier::kNvlink, 999), Of(LinkTier::kPcie, 63)})) {
    fabrics.push_back(fabric);
  }
  const KernelStackSpec stack = StackOf(Reference(), {}, fabrics);
  struct {
    LinkTier tier;
    double alpha_us, step_us, bus;  // Of the simple protocol; GB/s.
    size_t lines;
  } const kCases[] = {{LinkTier::kNvlink, 10.92, 4.42, 291.2, 3},
                      {LinkTier::kPcie, 10.92, 7.41, 40.95, 2},
                      {LinkTier::kRdma, 10.92, 18.2, 32.5, 2}};
  for (const auto& test : kCases) {
    SCOPED_TRACE(std::string(LinkTierName(test.tier)));
    const auto& family = stack.collectives[static_cast<size_t>(test.tier)];
    ASSERT_TRUE(family);
    ASSERT_EQ(family->lines.size(), test.lines);
    const CollectiveFamily::Line& simple = family->lines.back();
    EXPECT_EQ(simple.protocol, CollectiveFamily::Protocol::kSimple);
    EXPECT_NEAR(ToMicroseconds(simple.alpha), test.alpha_us, 1e-9);
    EXPECT_NEAR(ToMicroseconds(simple.step), test.step_us, 1e-9);
    EXPECT_NEAR(simple.bus.value() / 1e9, test.bus, 1e-9);
    // Every second word of LL is a flag.
    EXPECT_EQ(family->lines[0].bus, simple.bus * .5);
  }
  EXPECT_FALSE(StackOf(Reference()).collectives[0]);
}

TEST(DefaultStackTest, OverflowIsAViolationAndNoCrash) {
  // The largest rates that a device may have; the stack's are multiples.
  DeviceSpec spec = Spec("NVIDIA", "Hopper sm_90", 1e24, 1e24);
  Violations violations;
  const std::optional<Device> device = Device::Create(spec, violations);
  ASSERT_TRUE(device.has_value()) << violations.ToStatus();
  EXPECT_FALSE(DefaultStack(*device, {}, {}, violations));
  EXPECT_THAT(violations.ToStatus().ToString(),
              HasSubstr("l2_feed_bytes_per_second"));
}

}  // namespace
}  // namespace mansard::model
