#include "model/hardware/kernel_stack.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

FamilyFacts Facts(const char* id) {
  return {.id = id, .tier = Tier::kSpec, .sigma = .25, .provenance = {}};
}

KernelStackSpec ValidSpec() {
  KernelStackSpec spec;
  spec.id = "generic";
  spec.gemm = {{Facts("gemm-16bit"), Microseconds(1.7), Microseconds(.97), .8,
                .855, BytesPerSecond::Of(16.9e12), 128, 128}};
  spec.gemm_by_format.fill(0);
  spec.gemm_by_format[static_cast<size_t>(Format::kNvfp4)] = -1;
  spec.attention_decode = {
      Facts("decode"),           Microseconds(7.4), Microseconds(1), .6, .923,
      BytesPerSecond::Of(7.8e12)};
  spec.attention_prefill = {Facts("prefill"),
                            Microseconds(9.3),
                            {{64, .5}, {128, .75}, {256, .8}},
                            .62};
  spec.elementwise = {Facts("elementwise"), Microseconds(1.6), .8,
                      BytesPerSecond::Of(7.8e12)};
  spec.collectives[0] = {
      Facts("nvlink"),
      {{Microseconds(4.6), Microseconds(.78), GigabytesPerSecond(15)}}};
  return spec;
}

struct BrokenStack {
  void (*breaks)(KernelStackSpec&);
  const char* field;
  const char* description;
};

TEST(KernelStackTest, NamesTheRuleThatIsBroken) {
  const BrokenStack kCases[] = {
      {[](KernelStackSpec& s) { s.id = ""; }, "stack", "is \"\""},
      {[](KernelStackSpec& s) { s.gemm[0].facts.id = "A"; },
       "families[\"A\"].family", "is \"A\""},
      {[](KernelStackSpec& s) { s.gemm[0].facts.sigma = 0; },
       "families[\"gemm-16bit\"].residual_ratio", "is 0; must be above 0"},
      {[](KernelStackSpec& s) { s.gemm[0].launch = Microseconds(-1); },
       "families[\"gemm-16bit\"].launch_seconds", "is -1e-06"},
      {[](KernelStackSpec& s) { s.gemm[0].wave = Seconds::Infinity(); },
       "families[\"gemm-16bit\"].wave_seconds", "is inf"},
      {[](KernelStackSpec& s) { s.gemm[0].peak_fraction = 1.01; },
       "families[\"gemm-16bit\"].peak_fraction_ratio", "is 1.01"},
      {[](KernelStackSpec& s) {
         s.gemm[0].hbm_fraction = std::numeric_limits<double>::quiet_NaN();
       },
       "families[\"gemm-16bit\"].hbm_fraction_ratio", "is nan"},
      // Positive, but a time over it is no number.
      {[](KernelStackSpec& s) { s.gemm[0].hbm_fraction = 1.6e-322; },
       "families[\"gemm-16bit\"].hbm_fraction_ratio", "is 1.58101e-322"},
      {[](KernelStackSpec& s) {
         s.gemm[0].l2_feed = GigabytesPerSecond(1e-22);
       },
       "families[\"gemm-16bit\"].l2_feed_bytes_per_second", "is 1e-13"},
      {[](KernelStackSpec& s) { s.gemm[0].wave = Seconds::Of(1e25); },
       "families[\"gemm-16bit\"].wave_seconds", "is 1e+25"},
      {[](KernelStackSpec& s) { s.gemm[0].l2_feed = {}; },
       "families[\"gemm-16bit\"].l2_feed_bytes_per_second", "is 0"},
      {[](KernelStackSpec& s) { s.gemm[0].tile_rows = 0; },
       "families[\"gemm-16bit\"].tile_rows", "is 0"},
      {[](KernelStackSpec& s) { s.gemm[0].tile_columns = -128; },
       "families[\"gemm-16bit\"].tile_columns", "is -128"},
      {[](KernelStackSpec& s) { s.gemm_by_format[2] = 1; }, "bindings",
       "gemm bf16 is bound to family 1 of 1"},
      {[](KernelStackSpec& s) {
         s.gemm.clear();
         s.gemm_by_format.fill(-1);
       },
       "bindings", "none of op_kind \"gemm\""},
      {[](KernelStackSpec& s) { s.attention_decode.combine = Seconds::Of(-1); },
       "families[\"decode\"].combine_seconds", "is -1"},
      {[](KernelStackSpec& s) { s.attention_decode.peak_fraction = 0; },
       "families[\"decode\"].peak_fraction_ratio", "is 0"},
      {[](KernelStackSpec& s) { s.attention_prefill.peak_fractions.clear(); },
       "families[\"prefill\"].peak_fraction_head_128_ratio", "is missing"},
      {[](KernelStackSpec& s) {
         s.attention_prefill.peak_fractions[1].second = 2;
       },
       "families[\"prefill\"].peak_fraction_head_128_ratio", "is 2"},
      {[](KernelStackSpec& s) {
         s.attention_prefill.peak_fractions[1].first = 64;
       },
       "families[\"prefill\"].peak_fraction_head_64_ratio", "ascend"},
      {[](KernelStackSpec& s) { s.elementwise.hbm_fraction = 1.5; },
       "families[\"elementwise\"].hbm_fraction_ratio", "is 1.5"},
      {[](KernelStackSpec& s) { s.elementwise.facts.id = "decode"; },
       "families", "\"decode\" stands for another family already"},
      {[](KernelStackSpec& s) { s.collectives[0]->lines.clear(); },
       "families[\"nvlink\"].parameters", "no protocol line"},
      {[](KernelStackSpec& s) {
         s.collectives[0]->lines[0].bus = GigabytesPerSecond(-15);
       },
       "families[\"nvlink\"].simple_bus_bytes_per_second", "is -1.5e+10"},
      {[](KernelStackSpec& s) { s.host.request = Seconds::Of(-1); },
       "host.request_seconds", "is -1"},
      {[](KernelStackSpec& s) { s.fusion.foreign_expert_rows = 1.1; },
       "fusion.foreign_expert_row_ratio", "is 1.1; allowed: 0 to 1"},
      {[](KernelStackSpec& s) {
         s.fusion.foreign_expert_rows =
             std::numeric_limits<double>::quiet_NaN();
       },
       "fusion.foreign_expert_row_ratio", "is nan"},
  };
  for (const BrokenStack& test : kCases) {
    KernelStackSpec spec = ValidSpec();
    test.breaks(spec);
    Violations violations;
    EXPECT_FALSE(KernelStack::Create(spec, violations)) << test.field;
    ASSERT_EQ(violations.all().size(), 1u)
        << test.field << ": " << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, test.field);
    EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
  }
}

TEST(KernelStackTest, NamesAllBrokenRulesAtOnce) {
  KernelStackSpec spec = ValidSpec();
  spec.id = "x y";
  spec.gemm[0].peak_fraction = 0;
  spec.elementwise.l2_feed = {};
  spec.host.step = Seconds::Of(-1);
  Violations violations;
  EXPECT_FALSE(KernelStack::Create(spec, violations));
  EXPECT_EQ(violations.all().size(), 4u) << violations.ToStatus();
}

TEST(KernelStackTest, OneCollectiveFamilyMayServeTwoTiers) {
  KernelStackSpec spec = ValidSpec();
  spec.collectives[1] = spec.collectives[0];
  Violations violations;
  EXPECT_TRUE(KernelStack::Create(spec, violations)) << violations.ToStatus();
}

TEST(KernelStackTest, FindsTheGemmFamilyOfAFormat) {
  Violations violations;
  const std::optional<KernelStack> stack =
      KernelStack::Create(ValidSpec(), violations);
  ASSERT_TRUE(stack);
  EXPECT_EQ(stack->GemmFor(Format::kBf16), &stack->spec().gemm[0]);
  EXPECT_EQ(stack->GemmFor(Format::kNvfp4), nullptr);
}

TEST(KernelStackTest, PrefillFractionIsOfTheNextListedHeadSize) {
  const PrefillAttentionFamily family = ValidSpec().attention_prefill;
  struct {
    int head_size;
    double fraction;
  } const kCases[] = {{1, .5},    {64, .5},  {65, .75}, {80, .75},
                      {128, .75}, {192, .8}, {256, .8}, {512, .8}};
  for (const auto& test : kCases) {
    EXPECT_EQ(family.PeakFraction(test.head_size), test.fraction)
        << test.head_size;
  }
}

TEST(KernelStackTest, TierNames) {
  EXPECT_EQ(TierName(Tier::kSpec), "spec");
  EXPECT_EQ(TierName(Tier::kTransferred), "transferred");
  EXPECT_EQ(TierName(Tier::kCalibrated), "calibrated");
}

}  // namespace
}  // namespace mansard::model
