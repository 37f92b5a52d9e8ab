#include "calibrate/refresh/fit_profile.h"

#include <map>

#include "absl/strings/match.h"
#include "calibrate/cpu/cpu_cases.h"
#include "calibrate/fit/family_fit.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/measure/scripted_backend.h"
#include "calibrate/refresh/cpu_plans.h"
#include "calibrate/refresh/record_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/hardware/family_parameters.h"
#include "model/io/shipped.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kCache = 32 << 20;
constexpr double kPeak = 250e9;
constexpr double kMemory = 15e9;
constexpr double kCacheRate = 60e9;
constexpr double kOperations = 1e8;  // Of one run of multiply-adds.

// By family and parameter.
using Truth = std::map<std::string, std::map<std::string, double>>;
const Truth& KnownTruth() {
  static const Truth& truth = *new Truth{
      {"gemm-fp32",
       {{"launch_seconds", 5e-6},
        {"peak_fraction_ratio", .9},
        {"hbm_fraction_ratio", .72}}},
      {"attention-decode",
       {{"launch_seconds", 8e-6},
        {"peak_fraction_ratio", .06},
        {"hbm_fraction_ratio", .6}}},
      {"attention-prefill",
       {{"launch_seconds", 30e-6}, {"peak_fraction_head_128_ratio", .22}}},
      {"elementwise-norm",
       {{"launch_seconds", .4e-6}, {"l2_feed_bytes_per_second", 40e9}}},
      {"elementwise-activation",
       {{"launch_seconds", .3e-6}, {"l2_feed_bytes_per_second", 25e9}}},
      {"elementwise-residual",
       {{"launch_seconds", .15e-6}, {"l2_feed_bytes_per_second", 50e9}}},
  };
  return truth;
}

void Set(model::KernelFamily& family, const std::string& name, double value) {
  std::visit(
      [&](auto& typed) {
        using Family = std::remove_reference_t<decltype(typed)>;
        for (const auto& one : model::Formula<Family>::kParameters) {
          if (name == one.name) one.set(typed, value);
        }
      },
      family);
}

model::Device TrueDevice() {
  const model::Provenance known = {model::ProvenanceKind::kAssumed, "test", ""};
  model::DeviceSpec spec;
  spec.vendor = "Test";
  const size_t fp32 = static_cast<size_t>(model::Format::kFp32);
  spec.tensor_rates[fp32] = {model::FlopsPerSecond::Of(kPeak), known};
  spec.vector_rates[fp32] = spec.tensor_rates[fp32];
  spec.l2 =
      model::MemoryLevel{{model::Bytes::Of(kCache), known},
                         model::Sourced<model::BytesPerSecond>{
                             model::BytesPerSecond::Of(kCacheRate), known}};
  spec.hbm = {{model::Bytes::Of(64e9), known},
              model::Sourced<model::BytesPerSecond>{
                  model::BytesPerSecond::Of(kMemory), known}};
  model::Violations violations;
  return *model::Device::Create(spec, violations);
}

// A device that runs at the truth's times, with noise of one percent; of the
// samples and of the cases 5 % each run off.
class SyntheticBackend : public ScriptedBackend {
 public:
  explicit SyntheticBackend(uint64_t seed, model::FabricMap fabrics)
      : device_(TrueDevice()),
        fabric_(fabrics.at("ethernet-25g")),
        noise_(seed),
        stack_(TrueStack()) {
    device.backend = "cpu";
    device.name = "Test CPU";
    device.last_level_cache_bytes = kCache;
    device.memory_bytes = 64e9;
    device.clock_hertz = 4e9;
    run = [this](const Case& measured, int) { return Sampled(measured); };
    operations = [](const Case& measured) {
      return measured.kind == CaseKind::kMultiplyAdd ? kOperations
                                                     : Operations(measured);
    };
    prepare = [this](const Case& measured) {
      const bool streams =
          measured.bytes > 0 || measured.kind == CaseKind::kMultiplyAdd;
      ++cases_;
      spoiled_ = !streams && cases_ % 20 == 13;
      return absl::OkStatus();
    };
  }

  double TrueSeconds(const Case& measured) const {
    if (measured.kind == CaseKind::kMultiplyAdd) return kOperations / kPeak;
    if (measured.bytes > 0) {
      const bool cached = 2 * measured.bytes <= kCache;
      return MovedBytes(measured) / (cached ? kCacheRate : kMemory);
    }
    return model::Price(OpOf(measured), {device_, fabric_, stack_})
        .estimate.value();
  }

 private:
  model::KernelStack TrueStack() const {
    std::vector<CpuPlan> plans = CpuPlans(device_, 128);
    for (CpuPlan& plan : plans) {
      for (FitSlot& slot : plan.plan.slots) {
        for (const auto& [name, value] :
             KnownTruth().at(model::FactsOf(slot.prior).id)) {
          Set(slot.prior, name, value);
        }
      }
    }
    model::KernelStackSpec spec = CpuBaseStack(plans);
    spec.id = "truth";
    model::Violations violations;
    std::optional<model::KernelStack> stack =
        model::KernelStack::Create(spec, violations);
    EXPECT_TRUE(stack.has_value()) << violations.ToStatus();
    return *std::move(stack);
  }

  Sample Sampled(const Case& measured) {
    double seconds = TrueSeconds(measured) * (1 + .01 * noise_.Normal());
    if (noise_.Next() < .05) seconds *= 1.5 + 2 * noise_.Next();
    if (spoiled_) seconds *= 1.3;
    return {seconds, 4e9};
  }

  const model::Device device_;
  const model::Fabric fabric_;
  ScriptedNoise noise_;
  const model::KernelStack stack_;
  int cases_ = 0;
  bool spoiled_ = false;
};

class FitProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<model::ShippedData> data = model::LoadShippedData();
    ASSERT_TRUE(data.ok()) << data.status();
    fabrics_ = data->fabrics;
    options_.date = "2026-11-30";
  }

  absl::StatusOr<Record> Measure(uint64_t seed) {
    SyntheticBackend backend(seed, fabrics_);
    return RunCampaign(backend, CpuCases(kCache, Extent::kFull), options_);
  }

  model::FabricMap fabrics_;
  CampaignOptions options_;
};

// Sizes that no case has.
const Case kUnseen[] = {
    {.kind = CaseKind::kGemm, .m = 1, .n = 2048, .k = 1024},
    {.kind = CaseKind::kGemm, .m = 24, .n = 4096, .k = 2048},
    {.kind = CaseKind::kGemm, .m = 256, .n = 1024, .k = 2816},
    {.kind = CaseKind::kNorm, .rows = 64, .columns = 2048},
    {.kind = CaseKind::kActivation, .rows = 48, .columns = 2816},
    {.kind = CaseKind::kResidual, .rows = 64, .columns = 2048},
    {.kind = CaseKind::kDecodeAttention,
     .requests = 8,
     .context_tokens = 256,
     .query_heads = 16,
     .kv_heads = 8,
     .head_size = 128},
    {.kind = CaseKind::kPrefillAttention,
     .requests = 1,
     .context_tokens = 256,
     .query_heads = 16,
     .kv_heads = 8,
     .head_size = 128},
};

TEST_F(FitProfileTest, FindsTheTruthWithinItsOwnIntervals) {
  const auto record = Measure(1);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto fitted = FitProfile(*record, fabrics_);
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const model::HardwareProfile& profile = *fitted->profile;
  const model::DeviceSpec& device = profile.device().spec();
  EXPECT_NEAR(device.hbm.bandwidth->value.value() / kMemory, 1, .01);
  EXPECT_NEAR(device.l2->bandwidth->value.value() / kCacheRate, 1, .01);
  EXPECT_NEAR(profile.device().VectorRate()->value() / kPeak, 1, .01);
  const model::KernelStackSpec& stack = profile.stacks()[0].spec();
  EXPECT_NEAR(stack.gemm[0].peak_fraction, .9, .02);
  EXPECT_NEAR(stack.gemm[0].hbm_fraction, .72, .02);
  EXPECT_NEAR(stack.attention_prefill.PeakFraction(128), .22, .01);
  const SyntheticBackend truth(1, fabrics_);
  for (const Case& unseen : kUnseen) {
    const model::OpTime time =
        model::Price(OpOf(unseen), {profile.device(), profile.fabrics().front(),
                                    profile.stacks().front()});
    EXPECT_LE(time.p10.value(), truth.TrueSeconds(unseen)) << CaseId(unseen);
    EXPECT_GE(time.p90.value(), truth.TrueSeconds(unseen)) << CaseId(unseen);
    EXPECT_NEAR(time.estimate.value() / truth.TrueSeconds(unseen), 1, .1)
        << CaseId(unseen);
  }
}

// Where the truth of a family's parameter lies in the profile's own interval.
struct Coverage {
  int parameters = 0;
  int within = 0;
  int within_twice = 0;  // Of an interval twice as wide to both sides.
};

void Count(const model::KernelFamily& family, const model::Device& device,
           Coverage& coverage) {
  const model::FamilyFacts& facts = model::FactsOf(family);
  for (const auto& [name, value] : KnownTruth().at(facts.id)) {
    // Left at its prior.
    if (facts.parameter_provenance.count(name) > 0) continue;
    // Shares are of what the device was measured to reach.
    double known = value;
    if (name == "hbm_fraction_ratio") {
      known *= kMemory / device.HbmBandwidth().value();
    } else if (absl::StartsWith(name, "peak_fraction")) {
      known *= kPeak / device.VectorRate()->value();
    }
    const double fitted = *ParameterOf(family, name);
    const auto [low, high] = facts.parameter_intervals.at(name);
    ++coverage.parameters;
    coverage.within += low <= known && known <= high;
    coverage.within_twice +=
        low * low / fitted <= known && known <= high * high / fitted;
  }
}

TEST_F(FitProfileTest, ParametersLieInTheirOwnIntervals) {
  Coverage coverage;
  for (const uint64_t seed : {11, 12, 13, 14, 15, 16}) {
    const auto record = Measure(seed);
    ASSERT_TRUE(record.ok()) << record.status();
    const auto fitted = FitProfile(*record, fabrics_);
    ASSERT_TRUE(fitted.ok()) << fitted.status();
    const model::Device& device = fitted->profile->device();
    const model::KernelStackSpec& stack = fitted->profile->stacks()[0].spec();
    Count(stack.gemm[0], device, coverage);
    Count(stack.attention_decode, device, coverage);
    Count(stack.attention_prefill, device, coverage);
    for (const auto use :
         {model::ElementwiseUse::kNorm, model::ElementwiseUse::kActivation,
          model::ElementwiseUse::kResidual}) {
      Count(*stack.fine.elementwise.For(static_cast<size_t>(use)), device,
            coverage);
    }
  }
  EXPECT_GE(coverage.parameters, 60);
  // Not the eight of ten that they say: what spoils cases makes all of them
  // slower, and of few cases that is no scatter.
  EXPECT_GE(coverage.within, .55 * coverage.parameters);
  EXPECT_GE(coverage.within_twice, .9 * coverage.parameters);
}

TEST_F(FitProfileTest, TextReadsBackAndSaysWhereItComesFrom) {
  const auto record = Measure(4);
  ASSERT_TRUE(record.ok()) << record.status();
  const auto fitted = FitProfile(*record, fabrics_);
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const std::string text = ProfileText(*fitted, *record);
  EXPECT_THAT(text, HasSubstr("# Device: Test CPU, id hash 5eed, 1 threads"));
  EXPECT_THAT(text, HasSubstr("# Libraries: script 1"));
  EXPECT_THAT(text, HasSubstr("# Samples: "));
  EXPECT_THAT(text,
              HasSubstr(" 0 set aside as disturbed; at 4.00 to 4.00 GHz"));
  EXPECT_THAT(text, HasSubstr("# Sustained: multiply_add runs at "));
  EXPECT_THAT(text, HasSubstr("# gemm-fp32: "));
  EXPECT_THAT(text, HasSubstr("p90_value: "));
  EXPECT_THAT(text, HasSubstr("script 1 on Test CPU (id 5eed) at 4.00 to "
                              "4.00 GHz: "));
  model::ShippedData data;
  data.fabrics = fabrics_;
  const absl::Status added = model::AddData(
      {.fabrics = {}, .hardware = {{"here.textproto", text}}, .models = {}},
      data);
  ASSERT_TRUE(added.ok()) << added;
  const model::HardwareProfile& read = *data.profiles.at("here");
  const Case product{.kind = CaseKind::kGemm, .m = 20, .n = 900, .k = 700};
  const auto seconds = [&](const model::HardwareProfile& profile) {
    return model::Price(OpOf(product),
                        {profile.device(), profile.fabrics().front(),
                         profile.stacks().front()})
        .estimate.value();
  };
  EXPECT_DOUBLE_EQ(seconds(read), seconds(*fitted->profile));
}

TEST_F(FitProfileTest, NamesWhatIsMissing) {
  auto record = Measure(5);
  ASSERT_TRUE(record.ok()) << record.status();
  for (CaseResult& result : record->results) {
    if (result.measured.kind == CaseKind::kNorm) {
      result.outcome = Outcome::kSkipped;
    }
  }
  auto fitted = FitProfile(*record, fabrics_);
  EXPECT_EQ(fitted.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(fitted.status().message()),
              HasSubstr("too few measured cases of norm (0 measured, 3 "
                        "needed)"));
  std::erase_if(record->results, [](const CaseResult& result) {
    return result.measured.kind == CaseKind::kMultiplyAdd;
  });
  fitted = FitProfile(*record, fabrics_);
  EXPECT_THAT(std::string(fitted.status().message()),
              HasSubstr("no measured case of multiply_add"));
  record->device.backend = "abacus";
  fitted = FitProfile(*record, fabrics_);
  EXPECT_EQ(fitted.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FitProfileTest, RowsAgainstPhysicsAreNamedAndDropped) {
  auto record = Measure(6);
  ASSERT_TRUE(record.ok()) << record.status();
  for (CaseResult& result : record->results) {
    if (CaseId(result.measured) != "gemm m=384 n=3072 k=1536") continue;
    // Twice what the multiply-adds reach.
    result.seconds.median = Operations(result.measured) / (2 * kPeak);
  }
  const auto fitted = FitProfile(*record, fabrics_);
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  bool named = false;
  for (const NamedResult& one : fitted->named) {
    named |= one.case_id == "gemm m=384 n=3072 k=1536" &&
             one.suspect.gate == SanityGate::kAbovePeak && one.suspect.dropped;
  }
  EXPECT_TRUE(named);
}

}  // namespace
}  // namespace mansard::calibrate
