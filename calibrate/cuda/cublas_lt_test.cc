#include "calibrate/cuda/cublas_lt.h"

#include "calibrate/cuda/cublas_lt_types.h"
#include "calibrate/cuda/fake_blas.h"
#include "calibrate/cuda/works.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

namespace mansard::calibrate {
namespace {

using model::Format;
using ::testing::HasSubstr;

class BlasLtTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TheFakeBlas() = {};
    room_ = {nullptr, 1 << 20, &one_, nullptr};
  }

  absl::StatusOr<CudaWork> Work(Format format) {
    const absl::StatusOr<BlasLt> blas = BlasLt::Open(FakeBlasLibrary());
    if (!blas.ok()) return blas.status();
    return MakeGemmWork(
        gpu_,
        {.kind = CaseKind::kGemm, .m = 3, .n = 32, .k = 48, .format = format},
        *blas, room_);
  }

  const float one_ = 1;
  FakeGpu gpu_;
  BlasRoom room_;
};

TEST_F(BlasLtTest, ProductsAreOursInEveryFormat) {
  for (const Format format : {Format::kBf16, Format::kFp16, Format::kFp8E4m3,
                              Format::kInt8, Format::kNvfp4}) {
    {
      const auto work = Work(format);
      ASSERT_TRUE(work.ok()) << work.status();
      EXPECT_TRUE(work->verify().ok())
          << model::TraitsOf(format).name << work->verify();
      // Another set of weights gives another result.
      EXPECT_GT(work->sets, 1);
      ASSERT_TRUE(work->enqueue(1).ok());
    }
    EXPECT_EQ(TheFakeBlas().live, 0);
    EXPECT_TRUE(gpu_.live.empty());
  }
  EXPECT_EQ(TheFakeBlas().workspace, size_t{1} << 20);
}

TEST_F(BlasLtTest, WrongProductsAreFound) {
  for (const Format format : {Format::kBf16, Format::kFp8E4m3, Format::kInt8}) {
    gpu_.own_kernels.spoil = [](double x) { return 1.02 * x + 1; };
    const auto work = Work(format);
    ASSERT_TRUE(work.ok()) << work.status();
    EXPECT_EQ(work->verify().code(), absl::StatusCode::kDataLoss);
    gpu_.own_kernels.spoil = [](double) { return std::nan(""); };
    if (format != Format::kInt8) {
      EXPECT_EQ(work->verify().code(), absl::StatusCode::kDataLoss);
    }
  }
}

TEST_F(BlasLtTest, SaysWhyThereIsNone) {
  TheFakeBlas().has_kernel = false;
  const auto none = Work(Format::kNvfp4);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("no kernel for it on this device "
                        "(CUBLAS_STATUS_NOT_SUPPORTED)"));
  EXPECT_EQ(TheFakeBlas().live, 0);
  EXPECT_THAT(std::string(Work(Format::kMxfp4).status().message()),
              HasSubstr("products of mxfp4 are not measured"));
  TheFakeBlas().create_status = 1;
  EXPECT_EQ(BlasLt::Open(FakeBlasLibrary()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(BlasLtTest, SaysWhoItIs) {
  const auto blas = BlasLt::Open(FakeBlasLibrary());
  ASSERT_TRUE(blas.ok());
  EXPECT_EQ(blas->description(), "cuBLASLt 13.1.0");
}

TEST(Nvfp4ScaleBytes, AreWholeBlocks) {
  EXPECT_EQ(Nvfp4ScaleBytes(128, 64), 128 * 4);
  EXPECT_EQ(Nvfp4ScaleBytes(1, 16), 128 * 4);
  EXPECT_EQ(Nvfp4ScaleBytes(129, 80), 256 * 8);
}

#if __has_include(<cublasLt.h>)
TEST(BlasLtHeader, NumbersAreTheLibrarys) {
  namespace ours = cublas_lt;
  EXPECT_EQ(ours::kFp32, CUDA_R_32F);
  EXPECT_EQ(ours::kFp16, CUDA_R_16F);
  EXPECT_EQ(ours::kInt8, CUDA_R_8I);
  EXPECT_EQ(ours::kInt32, CUDA_R_32I);
  EXPECT_EQ(ours::kBf16, CUDA_R_16BF);
  EXPECT_EQ(ours::kE4m3, CUDA_R_8F_E4M3);
  EXPECT_EQ(ours::kE2m1, CUDA_R_4F_E2M1);
  EXPECT_EQ(ours::kComputeFp32, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(ours::kComputeInt32, CUBLAS_COMPUTE_32I);
  EXPECT_EQ(ours::kTransposed, CUBLAS_OP_T);
  EXPECT_EQ(ours::kDescTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(ours::kDescScaleA, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  EXPECT_EQ(ours::kDescScaleB, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  EXPECT_EQ(ours::kDescScaleModeA, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
  EXPECT_EQ(ours::kDescScaleModeB, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
  EXPECT_EQ(ours::kScaleBlocksOf16, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
  EXPECT_EQ(ours::kPreferenceWorkspace,
            CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(sizeof(ours::Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(ours::Heuristic), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(ours::Heuristic, state),
            offsetof(cublasLtMatmulHeuristicResult_t, state));
}
#endif

}  // namespace
}  // namespace mansard::calibrate
