#include "calibrate/cuda/cuda_backend.h"

#include <map>

#include "calibrate/cuda/fake_blas.h"
#include "calibrate/cuda/fake_gpu.h"
#include "calibrate/measure/campaign.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One of each kind, of sizes that a host works through.
const Case kCases[] = {
    {.kind = CaseKind::kCopy, .bytes = 1 << 16},
    {.kind = CaseKind::kTriad, .bytes = 1 << 16},
    {.kind = CaseKind::kRead, .bytes = 1 << 17},
    {.kind = CaseKind::kRead, .bytes = 1 << 17, .blocks = 2, .loads = 4},
    {.kind = CaseKind::kMultiplyAdd},
    {.kind = CaseKind::kMultiplyAdd, .format = Format::kBf16},
    {.kind = CaseKind::kGemm,
     .m = 2,
     .n = 16,
     .k = 32,
     .format = Format::kBf16},
    {.kind = CaseKind::kNorm,
     .rows = 3,
     .columns = 64,
     .format = Format::kBf16},
    {.kind = CaseKind::kActivation,
     .rows = 3,
     .columns = 64,
     .format = Format::kBf16},
    {.kind = CaseKind::kResidual,
     .rows = 3,
     .columns = 64,
     .format = Format::kBf16},
    {.kind = CaseKind::kQuantize,
     .rows = 3,
     .columns = 64,
     .format = Format::kBf16},
    {.kind = CaseKind::kDecodeAttention,
     .requests = 2,
     .context_tokens = 70,
     .query_heads = 4,
     .kv_heads = 2,
     .head_size = 64,
     .format = Format::kBf16},
    {.kind = CaseKind::kPrefillAttention,
     .requests = 2,
     .context_tokens = 20,
     .query_heads = 4,
     .kv_heads = 2,
     .head_size = 64,
     .format = Format::kBf16},
    {.kind = CaseKind::kCacheRead, .bytes = 1 << 16},
    {.kind = CaseKind::kSharedRead, .bytes = 1 << 18},
    {.kind = CaseKind::kPointerChase, .bytes = 1 << 14},
    {.kind = CaseKind::kPointerChase, .bytes = 1 << 18},
    {.kind = CaseKind::kTensorMultiplyAdd, .format = Format::kInt8},
    {.kind = CaseKind::kTensorMultiplyAdd, .format = Format::kTf32},
    {.kind = CaseKind::kExponential},
    {.kind = CaseKind::kHostToDevice, .bytes = 1 << 14},
    {.kind = CaseKind::kDeviceToHost, .bytes = 1 << 14},
    {.kind = CaseKind::kPeerCopy, .bytes = 1 << 14, .peer = 1},
};
const Case kLaunches[] = {
    {.kind = CaseKind::kLaunch},
    {.kind = CaseKind::kGraphLaunch, .nodes = 10},
};

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override { TheFakeBlas() = {}; }

  CudaMachine Machine(int devices) {
    CudaMachine machine{.gpus = {},
                        .blas = BlasLt::Open(FakeBlasLibrary()),
                        .nccl = absl::UnimplementedError("no NCCL"),
                        .nvml = Nvml{"580.1", [this] { return state_; }},
                        .at_start = state_,
                        .attention_library = "no cuDNN"};
    gpus_.clear();
    for (int i = 0; i < devices; ++i) {
      auto gpu = std::make_unique<FakeGpu>();
      gpus_.push_back(gpu.get());
      machine.gpus.push_back(std::move(gpu));
    }
    return machine;
  }

  GpuState state_;
  std::vector<FakeGpu*> gpus_;
};

TEST_F(CudaBackendTest, EveryCaseIsCheckedAndTimed) {
  CudaBackend backend(Machine(2));
  for (const Case& measured : kCases) {
    const auto prepared = backend.Prepare(measured);
    ASSERT_TRUE(prepared.ok()) << CaseId(measured) << prepared.status();
    EXPECT_TRUE((*prepared)->Verify().ok())
        << CaseId(measured) << (*prepared)->Verify();
    const auto sample = (*prepared)->Run();
    ASSERT_TRUE(sample.ok()) << CaseId(measured) << sample.status();
    EXPECT_GT(sample->seconds, 0);
    EXPECT_DOUBLE_EQ(sample->clock_hertz, 1.4e9);
    EXPECT_EQ(gpus_[0]->holds, 0);
  }
  for (const Case& measured : kLaunches) {
    const auto prepared = backend.Prepare(measured);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    ASSERT_TRUE((*prepared)->Verify().ok());
    const auto sample = (*prepared)->Run();
    ASSERT_TRUE(sample.ok()) << sample.status();
    // A launch takes 10 us; of a graph, all of its kernels.
    EXPECT_DOUBLE_EQ(sample->seconds, measured.nodes == 0 ? 10e-6 : 100e-6);
  }
}

TEST_F(CudaBackendTest, WrongResultsAreDataLoss) {
  CudaBackend backend(Machine(2));
  gpus_[0]->own_kernels.spoil = [](double x) { return 1.05 * x + 0.5; };
  for (const Case& measured : kCases) {
    const auto prepared = backend.Prepare(measured);
    ASSERT_TRUE(prepared.ok()) << CaseId(measured) << prepared.status();
    EXPECT_EQ((*prepared)->Verify().code(), absl::StatusCode::kDataLoss)
        << CaseId(measured);
  }
}

TEST_F(CudaBackendTest, SamplesAreLongEnoughAndColdBuffersTakeTurns) {
  CudaBackend backend(Machine(1));
  // 64 KiB of L2; 16 KiB of keys and values: 12 sets are three times that.
  const Case decode{.kind = CaseKind::kDecodeAttention,
                    .requests = 1,
                    .context_tokens = 64,
                    .query_heads = 1,
                    .kv_heads = 1,
                    .head_size = 64,
                    .format = Format::kBf16};
  const auto prepared = backend.Prepare(decode);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  ASSERT_TRUE((*prepared)->Verify().ok());
  const int64_t before = gpus_[0]->own_kernels.launches;
  ASSERT_TRUE((*prepared)->Run().ok());
  // 200 us are 20 launches; two rounds of the sets.
  EXPECT_EQ(gpus_[0]->own_kernels.launches - before, 24);
}

TEST_F(CudaBackendTest, WhatTheDeviceSaysStandsBesideTheSample) {
  state_.clock_limits = 0x4;
  state_.power_watts = 650;
  state_.processes = 1;
  CudaBackend backend(Machine(1));
  EXPECT_EQ(backend.contention(), "1 processes compute on it");
  EXPECT_EQ(backend.identity().notes.at("contended"),
            "1 processes compute on it");
  const auto prepared = backend.Prepare(kCases[0]);
  ASSERT_TRUE(prepared.ok());
  ASSERT_TRUE((*prepared)->Verify().ok());
  auto sample = (*prepared)->Run();
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->remark, "650 W, limited by power cap");
  EXPECT_EQ(sample->disturbance, "");
  EXPECT_THAT(SampleLine(kCases[0], *sample),
              HasSubstr("\"remark\":\"650 W, limited by power cap\""));
  state_.clock_limits = 0x40;
  sample = (*prepared)->Run();
  ASSERT_TRUE(sample.ok());
  EXPECT_EQ(sample->disturbance, "thermal slowdown (hardware)");
}

TEST_F(CudaBackendTest, WhatIsMissingIsWaivedAndSaid) {
  CudaMachine machine = Machine(1);
  machine.blas = absl::UnimplementedError("libcublasLt.so.13 is not there");
  machine.nvml = absl::UnimplementedError("no libnvidia-ml.so.1");
  CudaBackend backend(std::move(machine));
  EXPECT_THAT(
      backend.Waived(),
      ElementsAre("products (cuBLASLt): libcublasLt.so.13 is not there",
                  "clocks, power and throttling (NVML): no libnvidia-ml.so.1",
                  "collectives and peer copies: one device is visible"));
  std::map<std::string, Outcome> outcomes;
  const std::vector<Case> cases = {kCases[0], kCases[6]};
  CampaignOptions options;
  options.date = "2026-11-30";
  const auto record = RunCampaign(backend, cases, options);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->results[0].outcome, Outcome::kMeasured);
  EXPECT_EQ(record->results[1].outcome, Outcome::kSkipped);
  EXPECT_EQ(record->results[1].reason, "libcublasLt.so.13 is not there");
  EXPECT_EQ(record->device.backend, "cuda");
  EXPECT_EQ(record->device.notes.at("compute_capability"), "9.0");
}

TEST_F(CudaBackendTest, TooLittleMemoryIsASkippedCase) {
  CudaBackend backend(Machine(1));
  gpus_[0]->free_bytes = 1 << 17;
  const auto prepared =
      backend.Prepare({.kind = CaseKind::kCopy, .bytes = 1 << 20});
  EXPECT_EQ(prepared.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(gpus_[0]->live.empty());
  // Other heads, other formats than the kernels have.
  Case wide = kCases[11];
  wide.head_size = 80;
  EXPECT_EQ(backend.Prepare(wide).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(CudaBackendTest, PeakOperationsAreCounted) {
  CudaBackend backend(Machine(1));
  // 64 threads, 2^14 steps, 8 chains, two operations; bf16 in pairs.
  EXPECT_DOUBLE_EQ(backend.RunOperations({.kind = CaseKind::kMultiplyAdd}),
                   64.0 * 16384 * 8 * 2);
  EXPECT_DOUBLE_EQ(backend.RunOperations({.kind = CaseKind::kMultiplyAdd,
                                          .format = Format::kBf16}),
                   64.0 * 16384 * 8 * 4);
  // Two warps, 2^12 steps, 8 products of 16 x 16 x 8.
  EXPECT_DOUBLE_EQ(backend.RunOperations({.kind = CaseKind::kTensorMultiplyAdd,
                                          .format = Format::kFp16}),
                   2.0 * 4096 * 8 * 2 * 16 * 8 * 16);
  EXPECT_DOUBLE_EQ(backend.RunOperations(kCases[6]), 2.0 * 2 * 16 * 32);
}

}  // namespace
}  // namespace mansard::calibrate
