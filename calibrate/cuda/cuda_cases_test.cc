#include "calibrate/cuda/cuda_cases.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using ::testing::ElementsAre;

constexpr CudaLimits kHopper = {.l2_bytes = 50 << 20,
                                .memory_bytes = int64_t{80} << 30,
                                .multiprocessors = 132,
                                .compute_capability = 90,
                                .devices = 8};

size_t Count(const std::vector<Case>& cases, CaseKind kind, Format format) {
  size_t count = 0;
  for (const Case& one : cases) {
    count += one.kind == kind && one.format == format && !one.sustained;
  }
  return count;
}

TEST(CudaCases, FormatsGoByTheUnits) {
  EXPECT_THAT(CudaProductFormats(80),
              ElementsAre(Format::kBf16, Format::kFp16, Format::kInt8));
  EXPECT_THAT(CudaProductFormats(90),
              ElementsAre(Format::kBf16, Format::kFp8E4m3, Format::kFp16,
                          Format::kInt8));
  EXPECT_EQ(CudaProductFormats(100).back(), Format::kNvfp4);
  CudaLimits ampere = kHopper;
  ampere.compute_capability = 80;
  const std::vector<Case> cases = CudaCases(ampere);
  EXPECT_EQ(Count(cases, CaseKind::kGemm, Format::kFp8E4m3), 0u);
  EXPECT_EQ(Count(cases, CaseKind::kQuantize, Format::kBf16), 0u);
  EXPECT_EQ(Count(cases, CaseKind::kTensorMultiplyAdd, Format::kFp8E4m3), 0u);
}

TEST(CudaCases, AreEnoughForTheirFits) {
  const std::vector<Case> cases = CudaCases(kHopper);
  EXPECT_GE(Count(cases, CaseKind::kGemm, Format::kBf16), 100u);
  EXPECT_GE(Count(cases, CaseKind::kGemm, Format::kFp8E4m3), 100u);
  // A fit of 17 parameters to half of them.
  EXPECT_GE(Count(cases, CaseKind::kDecodeAttention, Format::kBf16), 45u);
  EXPECT_GE(Count(cases, CaseKind::kPrefillAttention, Format::kBf16), 36u);
  EXPECT_GE(Count(cases, CaseKind::kNorm, Format::kBf16), 12u);
  EXPECT_GE(Count(cases, CaseKind::kAllReduce, Format::kBf16), 25u);
}

TEST(CudaCases, AreUniqueAndReadBack) {
  std::set<std::string> ids;
  for (const Case& one : CudaCases(kHopper)) {
    EXPECT_TRUE(ids.insert(CaseId(one)).second) << CaseId(one);
    const auto read = MakeCase(CaseKindName(one.kind), one.sustained,
                               SizesOf(one), model::TraitsOf(one.format).name);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, one);
  }
}

TEST(CudaCases, FitTheDevice) {
  CudaLimits small = kHopper;
  small.memory_bytes = int64_t{16} << 30;
  small.multiprocessors = 20;
  small.devices = 1;
  for (const Case& one : CudaCases(small)) {
    EXPECT_EQ(one.ranks, 0);
    EXPECT_EQ(one.peer, 0);
    EXPECT_LE(one.blocks, 20);
    if (one.kind == CaseKind::kDecodeAttention) {
      EXPECT_LE(MovedBytes(one), 2.2e9) << CaseId(one);
    }
  }
}

TEST(CudaCases, BytesFollowTheFormat) {
  const Case fp8{.kind = CaseKind::kGemm,
                 .m = 2,
                 .n = 16,
                 .k = 32,
                 .format = Format::kFp8E4m3};
  EXPECT_EQ(CaseId(fp8), "gemm m=2 n=16 k=32 fp8-e4m3");
  // One byte in, two out.
  EXPECT_EQ(MovedBytes(fp8), 2 * 32 + 16 * 32 + 2 * 2 * 16);
  Case whole = fp8;
  whole.format = Format::kInt8;
  EXPECT_EQ(MovedBytes(whole), 2 * 32 + 16 * 32 + 4 * 2 * 16);
  whole.format = Format::kNvfp4;
  EXPECT_EQ(MovedBytes(whole), (2 * 32 + 16 * 32) / 2 + 2 * 2 * 16);
}

}  // namespace
}  // namespace mansard::calibrate
