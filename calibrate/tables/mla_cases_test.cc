#include "calibrate/tables/mla_cases.h"

#include <fstream>
#include <map>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/io/shipped.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::OpKind;
using ::testing::ElementsAre;

constexpr char kHeader[] =
    "phase,op,device,dtype,kv_dtype,batch,q_len,kv_len,heads,kv_lora_rank,"
    "rope_dim,qk_nope_dim,v_dim,latency_us,framework,framework_version,kernel,"
    "flag,source,license\n";

MeasuredCase Read(const std::string& row) {
  const auto cases = ReadMlaCases(kHeader + row + "\n");
  EXPECT_TRUE(cases.ok()) << cases.status();
  EXPECT_EQ(cases->size(), 1u);
  return cases->empty() ? MeasuredCase{} : cases->front();
}

model::OpList OpsOf(const MeasuredCase& measured) {
  const auto profile = mansard::testing::ToyHardware().Build();
  auto ops = measured.ops(profile->device(), profile->stacks()[0]);
  EXPECT_TRUE(ops.has_value());
  return ops.value_or(model::OpList{});
}

TEST(MlaCases, DecodesAreAbsorbed) {
  const MeasuredCase one = Read(
      "decode,mla_attention_core,H100_SXM,bf16,fp8,32,1,4096,128,512,64,128,"
      "128,88,SGLang,0.5.14,flash_attention,,ai-dynamo/aiconfigurator@1:x,l");
  EXPECT_EQ(one.slice, "decode bf16 kv fp8");
  EXPECT_TRUE(one.in_target);
  EXPECT_TRUE(one.warm_cache);
  EXPECT_EQ(one.size, 32 * 4096 * 576);
  const model::OpList ops = OpsOf(one);
  ASSERT_EQ(ops.size(), 1u);
  const auto& shape = std::get<model::LatentAttentionShape>(ops[0].shape);
  EXPECT_TRUE(shape.absorbed());
  EXPECT_EQ(shape.group.context(), 4096);
  // 2 (576 + 512) operations for each of 32 * 128 * 4096 scores.
  EXPECT_EQ(ops[0].work.tensor.value(), 2176.0 * 32 * 128 * 4096);
}

TEST(MlaCases, PromptsAreExpandedButOnHopperUnderSglang) {
  const std::string row =
      "prefill,mla_attention_core,H100_SXM,bf16,bf16,2,512,512,16,512,64,128,"
      "128,88,";
  const double pairs = 2.0 * 16 * 512 * 513 / 2;
  const model::OpList expanded =
      OpsOf(Read(row + "TensorRT-LLM,1.0,default,,a@b:c,l"));
  ASSERT_EQ(expanded.size(), 1u);
  EXPECT_EQ(expanded[0].work.tensor.value(), 640 * pairs);
  const MeasuredCase sglang = Read(row + "SGLang,0.5,fa,,a@b:c,l");
  // The toy device is no Hopper; H100 is.
  EXPECT_EQ(OpsOf(sglang)[0].work.tensor.value(), 640 * pairs);
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  const auto& hopper = *data->profiles.at("h100-sxm");
  const auto ops = sglang.ops(hopper.device(), hopper.stacks().front());
  ASSERT_TRUE(ops.has_value());
  EXPECT_EQ(ops->front().work.tensor.value(), 2176 * pairs);
  EXPECT_EQ(ops->front().kind, OpKind::kAttentionPrefill);
}

TEST(MlaCases, ProductsHaveAMatrixForEachHead) {
  const MeasuredCase query = Read(
      "decode,mla_bmm_q_absorb,H100_SXM,bf16,,80,1,,128,512,64,128,128,9,vLLM,"
      "0.24.0,bmm,,a@b:c,l");
  EXPECT_EQ(query.slice, "absorb bf16");
  EXPECT_FALSE(query.in_target);
  const auto query_ops = OpsOf(query);
  const auto& absorbed = std::get<model::GemmShape>(query_ops[0].shape);
  EXPECT_EQ(absorbed.m, 80);
  EXPECT_EQ(absorbed.n, 512);
  EXPECT_EQ(absorbed.k, 128);
  EXPECT_EQ(absorbed.batch, 128);
  const auto value_ops = OpsOf(
      Read("decode,mla_bmm_v_up,H100_SXM,bf16,,80,1,,128,512,64,128,128,9,vLLM,"
           "0.24.0,bmm,,a@b:c,l"));
  const auto& expanded = std::get<model::GemmShape>(value_ops[0].shape);
  EXPECT_EQ(expanded.n, 128);
  EXPECT_EQ(expanded.k, 512);
}

std::vector<OpKind> Kinds(const model::OpList& ops) {
  std::vector<OpKind> kinds;
  for (const model::Op& op : ops) kinds.push_back(op.kind);
  return kinds;
}

// Weights of DeepSeek-V3's attention on a rank with 16 of 128 heads:
// 7168 (1536 + 576) + 1536 * 16 * 192 + 16 * 512 (128 + 128) + 16 * 128 * 7168.
TEST(MlaCases, ModulesHoldTheProjections) {
  constexpr double kWeights =
      7168.0 * 2112 + 1536.0 * 3072 + 16.0 * 512 * 256 + 2048.0 * 7168;
  const std::string rest =
      ",16,512,64,128,128,88,TensorRT-LLM,1.3,default,,a@b:c,l";
  const MeasuredCase decode = Read(
      "decode,mla_module_with_projections_bfloat16,H100_SXM,bf16,bf16,4,1,"
      "100" +
      rest);
  EXPECT_EQ(decode.slice, "decode module bfloat16, bf16");
  EXPECT_FALSE(decode.in_target);
  const model::OpList ops = OpsOf(decode);
  EXPECT_THAT(
      Kinds(ops),
      ElementsAre(OpKind::kGemm, OpKind::kNorm, OpKind::kNorm, OpKind::kGemm,
                  OpKind::kRope, OpKind::kGemm, OpKind::kAttentionDecode,
                  OpKind::kGemm, OpKind::kGemm));
  double weights = 0;
  for (const model::Op& op : ops) {
    if (op.kind == OpKind::kGemm) weights += op.work.weights.value();
  }
  EXPECT_EQ(weights, 2 * kWeights);

  const model::OpList prompt = OpsOf(
      Read("prefill,mla_module_with_projections_bfloat16,H100_SXM,bf16,bf16,4,"
           "30,100" +
           rest));
  EXPECT_THAT(Kinds(prompt),
              ElementsAre(OpKind::kGemm, OpKind::kNorm, OpKind::kNorm,
                          OpKind::kGemm, OpKind::kRope, OpKind::kGemm,
                          OpKind::kAttentionPrefill, OpKind::kGemm));
  // Prefix and new positions are expanded.
  const auto& expansion = std::get<model::GemmShape>(prompt[5].shape);
  EXPECT_EQ(expansion.m, 400);
  EXPECT_EQ(expansion.n, 16 * 256);
  EXPECT_EQ(expansion.k, 512);
}

TEST(MlaCases, NarrowProjectionsQuantiseTheirInput) {
  const MeasuredCase decode = Read(
      "decode,mla_module_with_projections_fp8_block,H100_SXM,bf16,fp8,4,1,100,"
      "16,512,64,128,128,88,vLLM,0.24.0,default,,a@b:c,l");
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status();
  const auto& hopper = *data->profiles.at("h100-sxm");
  const auto ops = decode.ops(hopper.device(), hopper.stacks().front());
  ASSERT_TRUE(ops.has_value());
  EXPECT_THAT(
      Kinds(*ops),
      ElementsAre(OpKind::kQuantize, OpKind::kGemm, OpKind::kNorm,
                  OpKind::kNorm, OpKind::kQuantize, OpKind::kGemm,
                  OpKind::kRope, OpKind::kGemm, OpKind::kAttentionDecode,
                  OpKind::kGemm, OpKind::kQuantize, OpKind::kGemm));
}

TEST(MlaCases, PublishedTable) {
  std::ifstream file(MANSARD_SOURCE_DIR "/../shared/measured/mla.csv");
  if (!file) GTEST_SKIP() << "no ../shared/measured/mla.csv";
  std::ostringstream text;
  text << file.rdbuf();
  const auto cases = ReadMlaCases(text.str());
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_GT(cases->size(), 15000u);
  std::map<std::string, size_t> slices;
  for (const MeasuredCase& measured : *cases) ++slices[measured.slice];
  EXPECT_GT(slices["decode bf16"], 1000u);
  EXPECT_GT(slices["prefill bf16"], 700u);
  EXPECT_GT(slices["decode module fp8_block, bf16 kv fp8"], 500u);
}

}  // namespace
}  // namespace mansard::calibrate
