#include "calibrate/refresh/cuda_profile.h"

#include <cmath>
#include <map>

#include "calibrate/cuda/cuda_cases.h"
#include "calibrate/fit/decode_plan.h"
#include "calibrate/fit/gemm_plan.h"
#include "calibrate/fit/plans.h"
#include "calibrate/fit/prefill_plan.h"
#include "calibrate/measure/scripted_backend.h"
#include "calibrate/refresh/cuda_commands.h"
#include "calibrate/refresh/cuda_device.h"
#include "calibrate/refresh/cuda_proof.h"
#include "calibrate/refresh/cuda_rows.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"
#include "model/price/price.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kMemory = 4.2e12;
constexpr double kCacheRate = 6e12;
constexpr double kNoise = 0.01;

constexpr CudaLimits kH200 = {.l2_bytes = 60 << 20,
                              .memory_bytes = int64_t{140} << 30,
                              .multiprocessors = 132,
                              .compute_capability = 90,
                              .devices = 1};

// What the times of the record come from: the priors, moved.
model::TiledGemmFamily TrueGemm(const model::Device& device) {
  model::TiledGemmFamily family = GemmPrior(device);
  family.facts.id = "gemm-truth";
  family.facts.sigma = 0.1;
  family.launch = 1.3 * family.launch;
  family.wave = 1.5 * family.wave;
  family.peak_fraction = 0.8;
  family.hbm_fraction = 0.88;
  return family;
}

template <class Family>
void PlaceTrue(Family family, const std::string& id, const std::string& op_kind,
               const std::string& precision, model::KernelStackSpec& spec) {
  family.facts.id = id;
  family.facts.sigma = 0.1;
  const absl::Status placed = Place(
      {.op_kind = op_kind, .precision = precision, .prior = family, .free = {}},
      spec);
  EXPECT_TRUE(placed.ok()) << placed;
}

model::KernelStack TrueStack(const model::HardwareProfile& profile) {
  const model::Device& device = profile.device();
  model::KernelStackSpec spec = profile.stacks().front().spec();
  spec.id = "truth";
  PlaceTrue(TrueGemm(device), "gemm-truth", "plain_gemm", "bf16", spec);
  model::SplitDecodeFamily decode = DecodePriors(device, 2).front();
  decode.launch = 1.4 * decode.launch;
  decode.hbm_fraction = 0.8;
  PlaceTrue(decode, "decode-truth", "attention_decode", "bf16", spec);
  model::TiledPrefillFamily prefill = PrefillPriors(device)[2];
  for (auto& [head, fraction] : prefill.peak_fractions) fraction *= 0.6;
  PlaceTrue(prefill, "prefill-truth", "attention_prefill", "bf16", spec);
  model::Violations violations;
  std::optional<model::KernelStack> stack =
      model::KernelStack::Create(spec, violations);
  EXPECT_TRUE(stack.has_value()) << violations.ToStatus();
  return *std::move(stack);
}

class CudaProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<model::ShippedData> data = model::LoadShippedData();
    ASSERT_TRUE(data.ok()) << data.status();
    data_ = *std::move(data);
    profile_ = data_.profiles.at("h200-sxm");
  }

  double TrueSeconds(const Case& measured, const Record& record,
                     const model::KernelStack& stack) const {
    Record one = record;
    one.results = {{.measured = measured,
                    .outcome = Outcome::kMeasured,
                    .seconds = {.count = 1, .median = 1, .low = 1, .high = 1}}};
    const std::vector<MeasuredCase> rows = CudaRows(one);
    if (rows.empty()) {
      return MovedBytes(measured) /
             (measured.kind == CaseKind::kCacheRead ? kCacheRate : kMemory);
    }
    const auto ops = rows.front().ops(profile_->device(), stack);
    double seconds = 0;
    for (const model::Op& op : *ops) {
      seconds +=
          model::Price(op, {profile_->device(), profile_->fabrics().front(),
                            stack, rows.front().warm_cache})
              .estimate.value();
    }
    return seconds;
  }

  // Of the bf16 cases, as a device of the truth's would leave it.
  Record Synthetic(uint64_t seed) const {
    Record record;
    record.date = "2026-11-30";
    record.device = {.backend = "cuda",
                     .name = "NVIDIA H200",
                     .id_hash = "5eed",
                     .software = "cuBLASLt 13.1.0",
                     .clock_hertz = 1.98e9,
                     .memory_bytes = 140e9,
                     .last_level_cache_bytes = 60 << 20,
                     .threads = 132};
    record.device.notes["compute_capability"] = "9.0";
    ScriptedNoise noise(seed);
    const model::KernelStack stack = TrueStack(*profile_);
    for (const Case& measured : CudaCases(kH200)) {
      const bool streams = measured.kind == CaseKind::kRead ||
                           measured.kind == CaseKind::kCacheRead;
      if (measured.format != Format::kBf16 && !streams) continue;
      if (measured.kind == CaseKind::kTensorMultiplyAdd ||
          measured.kind == CaseKind::kMultiplyAdd) {
        continue;
      }
      const double seconds =
          TrueSeconds(measured, record, stack) * (1 + kNoise * noise.Normal());
      record.results.push_back({.measured = measured,
                                .outcome = Outcome::kMeasured,
                                .seconds = {.count = 20,
                                            .median = seconds,
                                            .low = .995 * seconds,
                                            .high = 1.005 * seconds},
                                .run_operations = Operations(measured)});
    }
    return record;
  }

  model::ShippedData data_;
  std::shared_ptr<const model::HardwareProfile> profile_;
};

const model::TiledGemmFamily* FittedGemm(const CudaFit& fit) {
  return fit.refreshed.profile->stacks().front().spec().fine.plain_gemm.For(
      static_cast<size_t>(Format::kBf16));
}

TEST_F(CudaProfileTest, FindsTheTruthAndPredictsWhatItDidNotSee) {
  const Record record = Synthetic(1);
  const auto proof = ProveCuda(record, data_);
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_TRUE(proof->Holds()) << CudaProofText(*proof);
  EXPECT_EQ(proof->slices.size(), 3u);
  RecordProperty("proof", CudaProofText(*proof));
  for (const HeldOutSlice& slice : proof->slices) {
    EXPECT_GT(slice.rows, 10u) << slice.table;
    EXPECT_LT(slice.mean_error, 0.05) << CudaProofText(*proof);
  }
  // The formula's own parameters, of half of the rows.
  const model::TiledGemmFamily truth = TrueGemm(profile_->device());
  const model::TiledGemmFamily* fitted = FittedGemm(proof->fit);
  ASSERT_NE(fitted, nullptr);
  EXPECT_NEAR(fitted->peak_fraction / truth.peak_fraction, 1, 0.05);
  EXPECT_NEAR(fitted->hbm_fraction / truth.hbm_fraction, 1, 0.03);
  EXPECT_NEAR(fitted->launch / truth.launch + fitted->wave / truth.wave, 2,
              0.4);
  EXPECT_THAT(CudaProofText(*proof), HasSubstr("within  7 %"));
  // Some predictions off: it no longer holds.
  CudaProof off = *proof;
  off.slices.front().mean_error = 0.2;
  EXPECT_FALSE(off.Holds());
  EXPECT_THAT(CudaProofText(off), HasSubstr("BEYOND"));
  off.slices.erase(off.slices.begin(), off.slices.begin() + 2);
  EXPECT_FALSE(off.Holds());  // No product.
}

TEST_F(CudaProfileTest, TextReadsBackAndGatesNameWhatIsWrong) {
  Record record = Synthetic(2);
  std::string spoiled;
  for (CaseResult& result : record.results) {
    const Case& measured = result.measured;
    if (CaseId(measured) == "gemm m=4096 n=8192 k=8192 bf16") {
      spoiled = CaseId(measured);
      // Twice what the datasheet has.
      result.seconds.median = Operations(measured) / 2e15;
    }
    if (measured.kind == CaseKind::kPrefillAttention) {
      result.outcome = Outcome::kSkipped;
      result.reason = "no kernel";
    }
  }
  const auto fit = FitCudaProfile(record, data_, {.draws = 0});
  ASSERT_TRUE(fit.ok()) << fit.status();
  bool named = false;
  for (const NamedResult& one : fit->refreshed.named) {
    named |= one.case_id == spoiled &&
             one.suspect.gate == SanityGate::kAbovePeak && one.suspect.dropped;
  }
  EXPECT_TRUE(named);
  EXPECT_THAT(WaivedCases(record),
              Contains(HasSubstr("attention_prefill, skipped: no kernel")));
  const std::string text = CudaProfileText(*fit, record);
  EXPECT_THAT(text, HasSubstr("# Device: NVIDIA H200, id hash 5eed"));
  EXPECT_THAT(text, HasSubstr("# gemm-bf16-tiled: "));
  EXPECT_THAT(text, HasSubstr("cuBLASLt 13.1.0 on NVIDIA H200: "));
  EXPECT_THAT(text, HasSubstr(spoiled));
  model::ShippedData data;
  data.fabrics = data_.fabrics;
  const absl::Status added = model::AddData(
      {.fabrics = {}, .hardware = {{"here.textproto", text}}, .models = {}},
      data);
  ASSERT_TRUE(added.ok()) << added;
  const model::HardwareProfile& read = *data.profiles.at("here");
  for (const Format format : {Format::kBf16, Format::kFp16}) {
    const model::Op op = model::GemmOp(
        {20, 6000, 7000, 1, format, format, format, format}, false);
    const auto seconds = [&](const model::HardwareProfile& profile) {
      return model::Price(op, {profile.device(), profile.fabrics().front(),
                               profile.stacks().front()})
          .estimate.value();
    };
    EXPECT_DOUBLE_EQ(seconds(read), seconds(*fit->refreshed.profile));
  }
}

TEST_F(CudaProfileTest, NamesWhatIsMissing) {
  Record record = Synthetic(3);
  std::erase_if(record.results, [](const CaseResult& result) {
    const Case& measured = result.measured;
    return measured.kind == CaseKind::kGemm ||
           (measured.kind == CaseKind::kPrefillAttention &&
            measured.context_tokens != 512);
  });
  const auto proof = ProveCuda(record, data_);
  ASSERT_TRUE(proof.ok()) << proof.status();
  EXPECT_FALSE(proof->Holds());  // No product.
  const auto fit = FitCudaProfile(record, data_, {.draws = 0});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->refreshed.families.size(), 4u);  // Decodes, three kernels.
  EXPECT_THAT(fit->unfitted,
              Contains(HasSubstr("attention_prefill bf16: 6 measured, ")));
  EXPECT_THAT(CudaProfileText(*fit, record),
              HasSubstr("# not fitted: attention_prefill bf16: 6 measured"));
  record.results.clear();
  EXPECT_EQ(FitCudaProfile(record, data_, {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  record.device.backend = "cpu";
  EXPECT_EQ(FitCudaProfile(record, data_, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(CudaProfileTest, DevicesThatAreNotShippedStandOnWhatWasMeasured) {
  Record record = Synthetic(4);
  record.device.name = "NVIDIA H900";
  auto hardware = CudaHardware(record, data_);
  ASSERT_TRUE(hardware.ok()) << hardware.status();
  const model::DeviceSpec& spec = hardware->device().spec();
  EXPECT_NEAR(spec.hbm.bandwidth->value.value() / kMemory, 1, 0.05);
  EXPECT_EQ(spec.architecture, "Hopper sm_90");
  EXPECT_TRUE(hardware->device().HasTensor(Format::kBf16));
  EXPECT_FALSE(hardware->device().HasTensor(Format::kFp8E4m3));
  // The L2's, which the datasheet of this device does not have.
  record.device.name = "NVIDIA H100 80GB HBM3";
  hardware = CudaHardware(record, data_);
  ASSERT_TRUE(hardware.ok()) << hardware.status();
  EXPECT_NEAR(
      hardware->device().spec().l2->bandwidth->value.value() / kCacheRate, 1,
      0.05);
  EXPECT_DOUBLE_EQ(hardware->device().HbmBandwidth().value(), 3.35e12);
  record.device.name = "NVIDIA H900";
  record.device.notes["compute_capability"] = "3.5";
  hardware = CudaHardware(record, data_);
  EXPECT_THAT(std::string(hardware.status().message()),
              HasSubstr("NVIDIA H900, compute capability \"3.5\""));
}

CaseResult Measured(const Case& measured, double seconds) {
  return {.measured = measured,
          .outcome = Outcome::kMeasured,
          .seconds = {
              .count = 10, .median = seconds, .low = seconds, .high = seconds}};
}

TEST_F(CudaProfileTest, CollectivesGoByTheLink) {
  Record record;
  record.date = "2026-11-30";
  record.device.name = "NVIDIA H200";
  record.device.notes["collectives"] = "NCCL 2.28.9";
  const Case reduce{.kind = CaseKind::kAllReduce,
                    .bytes = 1 << 20,
                    .ranks = 8,
                    .format = Format::kBf16};
  record.results = {Measured(reduce, 30e-6)};
  EXPECT_TRUE(CudaRows(record).empty());  // No link is known.
  record.results.push_back(Measured(
      {.kind = CaseKind::kPeerCopy, .bytes = 1 << 30, .peer = 1}, 2.5e-3));
  EXPECT_EQ(LinkOf(record), "nvlink");  // 430 GB/s.
  const std::vector<MeasuredCase> rows = CudaRows(record);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].slice, "all_reduce nvlink x8");
  EXPECT_EQ(rows[0].framework, "NCCL");
  EXPECT_EQ(rows[0].version, "2.28.9");
  const RowPlans plans = PlansFor(profile_->device(), rows[0]);
  ASSERT_EQ(plans.plans.size(), 1u);
  EXPECT_EQ(plans.plans[0].name, "all_reduce nvlink");
  record.results.back() = Measured(
      {.kind = CaseKind::kPeerCopy, .bytes = 1 << 30, .peer = 1}, 25e-3);
  EXPECT_EQ(LinkOf(record), "pcie");
}

TEST_F(CudaProfileTest, EveryRowHasAPlan) {
  CudaLimits blackwell = kH200;
  blackwell.compute_capability = 100;
  Record record;
  record.device.name = "NVIDIA B200";
  for (const Case& measured : CudaCases(blackwell)) {
    record.results.push_back(Measured(measured, 1e-3));
  }
  std::map<std::string, size_t> plans;
  for (const MeasuredCase& row : CudaRows(record)) {
    const RowPlans made =
        PlansFor(data_.profiles.at("b200-sxm")->device(), row);
    ASSERT_FALSE(made.plans.empty()) << row.table << " " << row.slice;
    ++plans[made.plans.front().name];
  }
  EXPECT_EQ(plans.size(), 10u);
  EXPECT_EQ(plans["gemm nvfp4"], 168u);
  // Quantisation stands with the products whose input it makes.
  EXPECT_EQ(plans["gemm fp8-e4m3"], 168u + 14);
}

TEST(NoDeviceText, SaysWhatIsWaivedAndWhy) {
  const std::string text =
      NoDeviceText("no driver", {"NVML: libnvidia-ml.so.1 is not there"});
  EXPECT_THAT(text, HasSubstr("no driver\nwaived for it:\n"));
  EXPECT_THAT(text, HasSubstr("  attention_decode     up to "));
  EXPECT_THAT(text,
              HasSubstr("\nmissing too: NVML: libnvidia-ml.so.1 is not there"));
}

}  // namespace
}  // namespace mansard::calibrate
