#include "calibrate/fit/gemm_rows.h"

#include "calibrate/tables/names.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using ::testing::HasSubstr;

constexpr char kTable[] =
    "device,dtype_in,dtype_weight,dtype_out,quant,batch,m,n,k,latency_us,"
    "framework,framework_version,kernel,scope,flag,source,license\n"
    "H100_SXM,bf16,bf16,bf16,none,1,8,512,1024,12.5,vLLM,0.24.0,x,gemm,,o/r@1:"
    "p,MIT\n"
    "H100_SXM,bf16,bf16,bf16,none,1,0,512,1024,12.5,vLLM,0.24.0,x,gemm,,o/r@1:"
    "p,MIT\n"
    "B200_SXM,fp8,fp8,bf16,block128_dynamic,2,8,512,1024,7,SGLang,0.5.14,x,"
    "act_quant+gemm,host_bound_suspect,o/r@1:p,MIT\n";

TEST(GemmRows, ReadsWhatHasAShapeAndATime) {
  const absl::StatusOr<std::vector<GemmRow>> rows = ReadGemmRows(kTable);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2u);  // m = 0 is no product.
  const GemmRow& first = (*rows)[0];
  EXPECT_EQ(first.device, "H100_SXM");
  EXPECT_EQ(first.version, "0.24.0");
  EXPECT_EQ(first.source, "o/r@1:p");
  EXPECT_EQ(first.n, 512);
  EXPECT_EQ(first.k, 1024);
  EXPECT_DOUBLE_EQ(model::ToMicroseconds(first.time), 12.5);
  EXPECT_EQ((*rows)[1].batch, 2);
  EXPECT_EQ((*rows)[1].flag, "host_bound_suspect");
}

TEST(GemmRows, NamesAMissingColumn) {
  EXPECT_THAT(std::string(ReadGemmRows("device,m\nx,1\n").status().message()),
              HasSubstr("no column \"dtype_in\""));
}

TEST(GemmRows, SidesAreOfTheShapeAndAboutEven) {
  int fitted = 0;
  int count = 0;
  for (const int64_t m : {1, 2, 4, 8, 16, 33, 64, 257, 1024, 4096}) {
    for (int64_t n = 128; n <= 8192; n *= 2) {
      for (int64_t k = 128; k <= 8192; k *= 2) {
        ++count;
        fitted += SideOf({m, n, k}) == Side::kFitted ? 1 : 0;
        EXPECT_EQ(SideOf({m, n, k}), SideOf({m, n, k}));
      }
    }
  }
  EXPECT_NEAR(fitted, count / 2.0, count / 10.0);
}

TEST(Names, OfTables) {
  EXPECT_EQ(HardwareId("RTX_PRO_6000_SERVER"), "rtx-pro-6000");
  EXPECT_EQ(HardwareId("unheard of"), "");
  EXPECT_EQ(StackId("vLLM", "0.24.0"), "vllm-0.24");
  EXPECT_EQ(StackId("SGLang", "0.5.14"), "sglang-0.5.14");
  EXPECT_EQ(StackId("TensorRT-LLM", "1.3.0rc20"), "trtllm-1.3.0rc20");
  EXPECT_EQ(StackId("PyTorch", "2.1"), "");
}

TEST(Names, FormatsOfRows) {
  const std::vector<GemmRow> rows = *ReadGemmRows(kTable);
  const RowFormats plain = *FormatsOf(rows[0]);
  EXPECT_EQ(plain.weights, Format::kBf16);
  EXPECT_FALSE(plain.quantizes);
  const RowFormats block = *FormatsOf(rows[1]);
  EXPECT_EQ(block.input, Format::kFp8Block);
  EXPECT_EQ(block.output, Format::kBf16);
  EXPECT_TRUE(block.quantizes);
  GemmRow other = rows[0];
  other.scope = "gemm+host_sync";
  EXPECT_FALSE(FormatsOf(other).has_value());
}

}  // namespace
}  // namespace mansard::calibrate
