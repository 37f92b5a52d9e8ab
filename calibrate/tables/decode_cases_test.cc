#include "calibrate/tables/decode_cases.h"

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] =
    "device,dtype,kv_dtype,batch,kv_len,heads,kv_heads,head_dim,window,"
    "latency_us,framework,framework_version,kernel,flag,source,license\n";

std::vector<MeasuredCase> Read(const std::string& rows) {
  auto cases = ReadDecodeCases(kHeader + rows);
  EXPECT_TRUE(cases.ok()) << cases.status();
  return cases.ok() ? *std::move(cases) : std::vector<MeasuredCase>{};
}

model::OpList OpsOf(const MeasuredCase& measured) {
  const auto profile = mansard::testing::ToyHardware().Build();
  auto ops = measured.ops(profile->device(), profile->stacks()[0]);
  EXPECT_TRUE(ops.has_value());
  return ops.value_or(model::OpList{});
}

TEST(DecodeCases, RowIsOneAttention) {
  const auto cases = Read(
      "H100_SXM,bf16,fp8,16,1024,32,8,128,0,21.5,vLLM,0.24.0,fa3,,"
      "ai-dynamo/aiconfigurator@095f58a5:x,Apache-2.0\n");
  ASSERT_EQ(cases.size(), 1u);
  const MeasuredCase& one = cases[0];
  EXPECT_EQ(one.slice, "bf16 kv fp8");
  EXPECT_EQ(one.shape, "batch=16 kv=1024 heads=32/8 head=128");
  EXPECT_NEAR(model::ToMicroseconds(one.measured), 21.5, 1e-9);
  EXPECT_TRUE(one.warm_cache);
  EXPECT_TRUE(one.in_target);
  // 16 * 1024 * 8 * (128 + 128) one-byte elements.
  EXPECT_EQ(one.size, 33554432);
  const model::OpList ops = OpsOf(one);
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].kind, model::OpKind::kAttentionDecode);
  const auto& shape = std::get<model::AttentionShape>(ops[0].shape);
  EXPECT_EQ(shape.group.prior_tokens, 1023);  // kv_len holds the new token.
  EXPECT_EQ(shape.group.new_tokens, 1);
  EXPECT_EQ(shape.kv_cache, model::Format::kFp8E4m3);
}

TEST(DecodeCases, WindowsHidePositions) {
  const auto cases =
      Read("H100_SXM,bf16,bf16,2,1024,8,2,64,128,9,vLLM,0.24.0,fa3,,a@b:c,x\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].size, 2 * 128 * 2 * 128 * 2);
  EXPECT_EQ(cases[0].shape, "batch=2 kv=1024 heads=8/2 head=64 window=128");
  EXPECT_FALSE(cases[0].warm_cache);
}

TEST(DecodeCases, FallbackKernelsAreSlicesOfTheirOwn) {
  const std::string shape = ",bf16,bf16,1,64,8,2,128,0,9,SGLang,0.5.14,";
  const auto cases =
      Read("H100_SXM" + shape + "fa3|tp1,,a@b:c,x\n" + "H100_SXM" + shape +
           "fa3|tp2,,a@b:c,x\n" + "H100_SXM" + shape + "triton,,a@b:c,x\n" +
           "B200_SXM" + shape + "triton,,a@b:c,x\n");
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases[0].slice, "bf16");
  EXPECT_EQ(cases[1].slice, "bf16");
  EXPECT_EQ(cases[2].slice, "bf16, triton");
  EXPECT_FALSE(cases[2].in_target);
  EXPECT_EQ(cases[3].slice, "bf16");
}

TEST(DecodeCases, OtherTypesHaveNoOps) {
  const auto cases = Read("L4,int3,int3,1,64,8,2,128,0,9,X,1,k,odd,a@b:c,x\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].flag, "odd");
  const auto profile = mansard::testing::ToyHardware().Build();
  EXPECT_FALSE(
      cases[0].ops(profile->device(), profile->stacks()[0]).has_value());
}

TEST(DecodeCases, LeavesOutRowsWithoutShapeOrTime) {
  EXPECT_TRUE(Read("L4,bf16,bf16,0,64,8,2,128,0,9,X,1,k,,a@b:c,x\n"
                   "L4,bf16,bf16,1,64,8,2,128,0,0,X,1,k,,a@b:c,x\n"
                   "L4,bf16,bf16,1,64,8,,128,0,9,X,1,k,,a@b:c,x\n")
                  .empty());
  EXPECT_THAT(std::string(ReadDecodeCases("device\n").status().message()),
              HasSubstr("kv_len"));
}

// Shapes of the published table: none is lost.
TEST(DecodeCases, PublishedTable) {
  std::ifstream file(MANSARD_SOURCE_DIR
                     "/../shared/measured/attention_decode.csv");
  if (!file) GTEST_SKIP() << "no ../shared/measured/attention_decode.csv";
  std::ostringstream text;
  text << file.rdbuf();
  const auto cases = ReadDecodeCases(text.str());
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_GT(cases->size(), 20000u);
  size_t fitted = 0;
  size_t others = 0;
  for (const MeasuredCase& measured : *cases) {
    fitted += measured.side == Side::kFitted ? 1 : 0;
    others += measured.in_target ? 0 : 1;
    EXPECT_GT(measured.size, 0) << measured.row;
  }
  const double share =
      static_cast<double>(fitted) / static_cast<double>(cases->size());
  EXPECT_NEAR(share, .5, .05);
  EXPECT_LT(others, cases->size() / 10);
}

}  // namespace
}  // namespace mansard::calibrate
