#include "calibrate/tables/prefill_cases.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "calibrate/tables/mixed_cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

using model::AttentionShape;
using ::testing::HasSubstr;

constexpr char kHeader[] =
    "device,dtype,kv_dtype,batch,q_len,kv_len,heads,kv_heads,head_dim,window,"
    "causal,latency_us,framework,framework_version,kernel,flag,source\n";

std::string Row(const std::string& math, const std::string& cache,
                const std::string& shape, const std::string& kernel) {
  return absl::StrCat("H100_SXM,", math, ",", cache, ",", shape,
                      ",25.5,SGLang,0.5.14,", kernel, ",,owner/name@1:x\n");
}

class PrefillCasesTest : public ::testing::Test {
 protected:
  // The one op of a row.
  model::Op OpOf(const MeasuredCase& measured) const {
    const auto ops = measured.ops(profile_->device(), profile_->stacks()[0]);
    EXPECT_TRUE(ops.has_value());
    EXPECT_EQ(ops->size(), 1u);
    return ops->front();
  }

  std::shared_ptr<const model::HardwareProfile> profile_ =
      mansard::testing::ToyHardware().Build();
};

TEST_F(PrefillCasesTest, ARowIsOneAttention) {
  const auto cases = *ReadPrefillCases(absl::StrCat(
      kHeader, Row("bf16", "bf16", "2,512,768,32,8,128,1024,1", "fa3")));
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].slice, "bf16");
  EXPECT_TRUE(cases[0].in_target);
  EXPECT_DOUBLE_EQ(cases[0].measured.value(), 25.5e-6);
  EXPECT_EQ(cases[0].side, SideOf({2, 512, 768, 32, 8, 128, 1024, 1}));
  const model::Op op = OpOf(cases[0]);
  EXPECT_EQ(op.kind, model::OpKind::kAttentionPrefill);
  const auto& shape = std::get<AttentionShape>(op.shape);
  EXPECT_EQ(shape.group.prior_tokens, 256);
  EXPECT_EQ(shape.group.new_tokens, 512);
  EXPECT_EQ(shape.window, 1024);
  EXPECT_EQ(shape.kv_heads, 8);
  // 2 requests, 32 heads, 4 d operations a pair; 512 * 256 + 512 * 513 / 2.
  EXPECT_DOUBLE_EQ(cases[0].size,
                   2.0 * 32 * 4 * 128 * (512 * 256 + 512 * 513 / 2));
}

TEST_F(PrefillCasesTest, SlicesTellKernelsApart) {
  const std::string shape = "1,256,256,32,8,128,0,1";
  const std::string not_causal = "1,576,576,16,16,72,0,0";
  const auto cases = *ReadPrefillCases(absl::StrCat(
      kHeader, Row("bf16", "bf16", shape, "fa3"),
      Row("bf16", "bf16", shape, "fa3|Model|tp1"),
      Row("bf16", "bf16", shape, "triton"),
      Row("bf16", "bf16", not_causal, "vit"),
      // The engine's own kernel computes in fp8 where the cache is fp8.
      Row("fp8", "fp8", shape, "fa3"), Row("fp8", "fp8", shape, "fa3"),
      Row("bf16", "fp8", shape, "triton")));
  ASSERT_EQ(cases.size(), 7u);
  const char* slices[] = {
      "bf16",        "bf16",        "bf16, triton",       "bf16, not causal",
      "bf16 kv fp8", "bf16 kv fp8", "bf16 kv fp8, triton"};
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].slice, slices[i]) << i;
  }
  const model::Op op = OpOf(cases[4]);
  EXPECT_EQ(std::get<AttentionShape>(op.shape).input, model::Format::kBf16);
  EXPECT_EQ(std::get<AttentionShape>(op.shape).kv_cache,
            model::Format::kFp8E4m3);
  EXPECT_FALSE(cases[0].in_target);  // 256 tokens.
  EXPECT_FALSE(cases[3].in_target);
}

TEST_F(PrefillCasesTest, WhereAKernelHasBothItsFp8MathIsApart) {
  const std::string shape = "1,256,256,32,8,128,0,1";
  const auto cases = *ReadPrefillCases(
      absl::StrCat(kHeader, Row("bf16", "fp8", shape, "torch_flow"),
                   Row("fp8", "fp8", shape, "torch_flow"),
                   Row("fp8", "fp8", shape, "torch_flow")));
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].slice, "bf16 kv fp8");
  EXPECT_EQ(cases[1].slice, "fp8");
}

TEST_F(PrefillCasesTest, LeavesOutRowsWithoutAShape) {
  const auto cases = *ReadPrefillCases(absl::StrCat(
      kHeader, Row("bf16", "bf16", "0,512,512,32,8,128,0,1", "fa3"),
      Row("bf16", "bf16", "1,512,256,32,8,128,0,1", "fa3"),
      Row("bf16", "bf16", "1,512,512,4,8,128,0,1", "fa3"),
      Row("bf16", "strange", "1,512,512,32,8,128,0,1", "fa3")));
  EXPECT_TRUE(cases.empty());
  EXPECT_THAT(
      std::string(ReadPrefillCases("device,batch\n").status().message()),
      HasSubstr("kv_dtype"));
}

TEST_F(PrefillCasesTest, AMixedRowIsAPromptAndDecodes) {
  const auto cases = *ReadMixedCases(
      "device,dtype,kv_dtype,prefill_q_len,prefill_prior_kv_len,decode_batch,"
      "decode_kv_len,heads,kv_heads,head_dim,latency_us,framework,"
      "framework_version,kernel,source\n"
      "RTX_4090,bf16,bf16,64,128,16,8192,32,8,128,31,vLLM,0.19.0,"
      "vllm_attention|Llama-3.1-8B|tp1,owner/name@1:x\n"
      "RTX_4090,bf16,bf16,64,128,0,8192,32,8,128,31,vLLM,0.19.0,k,o\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].slice, "bf16");
  const auto ops = cases[0].ops(profile_->device(), profile_->stacks()[0]);
  ASSERT_TRUE(ops.has_value());
  ASSERT_EQ(ops->size(), 2u);
  const auto& prompt = std::get<AttentionShape>((*ops)[0].shape);
  EXPECT_EQ(prompt.group.new_tokens, 64);
  EXPECT_EQ(prompt.group.prior_tokens, 128);
  const auto& decode = std::get<AttentionShape>((*ops)[1].shape);
  EXPECT_EQ((*ops)[1].kind, model::OpKind::kAttentionDecode);
  EXPECT_EQ(decode.group.request_count, 16);
  EXPECT_EQ(decode.group.context(), 8192);
  EXPECT_TRUE(decode.with_prompts);
}

std::string Measured(const std::string& name) {
  std::ifstream file(
      absl::StrCat(MANSARD_SOURCE_DIR, "/../shared/measured/", name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(PrefillTables, EveryRowIsRead) {
  const std::string prefill = Measured("attention_prefill.csv");
  if (prefill.empty()) GTEST_SKIP() << "../shared/measured is not there";
  const auto cases = ReadPrefillCases(prefill);
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_EQ(cases->size(), 26306u);
  std::map<std::string, int> slices;
  size_t held_out = 0;
  for (const MeasuredCase& measured : *cases) {
    ++slices[measured.slice];
    held_out += measured.side == Side::kHeldOut;
  }
  EXPECT_GT(slices["bf16"], 9000);
  EXPECT_GT(slices["bf16 kv fp8"], 8000);
  EXPECT_NEAR(static_cast<double>(held_out) / 26306, .5, .05);

  const auto mixed = ReadMixedCases(Measured("attention_mixed_batch.csv"));
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_EQ(mixed->size(), 5407u);
}

}  // namespace
}  // namespace mansard::calibrate
