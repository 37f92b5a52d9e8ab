#include "calibrate/tables/moe_cases.h"

#include <fstream>
#include <map>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_hardware.h"

namespace mansard::calibrate {
namespace {

using model::ElementwiseShape;
using model::GroupedGemmShape;
using model::OpKind;
using model::OpList;
using model::Part;
using ::testing::HasSubstr;

constexpr char kHeader[] =
    "device,dtype_act,dtype_weight,scope,num_tokens,hidden,inter,topk,"
    "num_experts,moe_tp,moe_ep,distribution,latency_us,framework,"
    "framework_version,kernel,flag,source,license\n";
constexpr char kEnd[] = ",,ai-dynamo/aiconfigurator@095f58a5:x,Apache-2.0\n";

std::vector<MeasuredCase> Read(const std::string& rows) {
  auto cases = ReadMoeCases(kHeader + rows);
  EXPECT_TRUE(cases.ok()) << cases.status();
  return cases.ok() ? *std::move(cases) : std::vector<MeasuredCase>{};
}

MeasuredCase ReadOne(const std::string& row) {
  auto cases = Read(row + kEnd);
  EXPECT_EQ(cases.size(), 1u) << row;
  return cases.empty() ? MeasuredCase{} : cases[0];
}

// On a device with bf16 and fp8 units.
OpList OpsOf(const MeasuredCase& measured, double foreign_rows = 0) {
  mansard::testing::ToyHardware toy;
  toy.stack.fusion.foreign_expert_rows = foreign_rows;
  const auto profile = toy.Build();
  auto ops = measured.ops(profile->device(), profile->stacks()[0]);
  EXPECT_TRUE(ops.has_value());
  return ops.value_or(OpList{});
}

const GroupedGemmShape& Gemm(const OpList& ops, size_t i) {
  return std::get<GroupedGemmShape>(ops[i].shape);
}
const ElementwiseShape& Elementwise(const OpList& ops, size_t i) {
  return std::get<ElementwiseShape>(ops[i].shape);
}

// 4 tokens pick t and t + 4 of 8 experts; a rank holds 4 of them and half of
// each: 4 rows, one an expert.
constexpr char kLayer[] =
    "H100_SXM,bf16,bf16,fused_moe_layer,4,64,32,2,8,2,2,balanced,50,vLLM,"
    "0.24.0,vllm_triton_tritonexperts";

TEST(MoeCases, LayerIsTwoGemmsAndWhatIsBetween) {
  const MeasuredCase one = ReadOne(kLayer);
  EXPECT_EQ(one.slice, "bf16");
  EXPECT_EQ(one.shape,
            "tokens=4 hidden=64 inter=32 k=2/8 tp=2 ep=2 balanced "
            "fused_moe_layer");
  EXPECT_NEAR(model::ToMicroseconds(one.measured), 50, 1e-9);
  EXPECT_TRUE(one.warm_cache);
  EXPECT_EQ(one.size, 4);
  const OpList ops = OpsOf(one);
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[0].part, Part::kExpertUp);
  EXPECT_EQ(Gemm(ops, 0).rows, 4);
  EXPECT_EQ(Gemm(ops, 0).distinct_experts, 4);
  EXPECT_EQ(Gemm(ops, 0).experts, 4);
  EXPECT_EQ(Gemm(ops, 0).n, 32);  // Gate and up.
  EXPECT_EQ(Gemm(ops, 0).k, 64);
  EXPECT_TRUE(Gemm(ops, 0).even);
  EXPECT_EQ(ops[1].part, Part::kExpertActivation);
  EXPECT_EQ(Elementwise(ops, 1).rows, 4);
  EXPECT_EQ(Elementwise(ops, 1).columns, 16);
  EXPECT_EQ(Elementwise(ops, 1).experts, model::Format::kBf16);
  EXPECT_EQ(ops[2].part, Part::kExpertDown);
  EXPECT_EQ(Gemm(ops, 2).n, 64);
  EXPECT_EQ(Gemm(ops, 2).k, 16);
  EXPECT_EQ(ops[3].part, Part::kCombine);
  // 4 outputs of 64 bf16 elements are read, 4 tokens written.
  EXPECT_EQ(ops[3].work.activations_in.value(), 4 * 64 * 2);
  EXPECT_EQ(ops[3].work.activations_out.value(), 4 * 64 * 2);
}

TEST(MoeCases, StackPassesOverItsShareOfForeignRows) {
  // 4 of the 8 pairs are other ranks'.
  const OpList ops = OpsOf(ReadOne(kLayer), 0.5);
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(Gemm(ops, 0).rows, 4);
  EXPECT_EQ(Elementwise(ops, 1).rows, 6);
  EXPECT_EQ(ops[3].work.activations_in.value(), 6 * 64 * 2);
}

TEST(MoeCases, LowFormatsAreQuantisedBetween) {
  const MeasuredCase one = ReadOne(
      "H100_SXM,fp8,fp8,fused_moe_layer,4,64,32,2,8,1,1,balanced,50,vLLM,"
      "0.24.0,cutlass");
  EXPECT_EQ(one.slice, "fp8-e4m3");
  const OpList ops = OpsOf(one);
  ASSERT_EQ(ops.size(), 5u);
  EXPECT_EQ(ops[2].kind, OpKind::kQuantize);
  EXPECT_EQ(ops[2].part, Part::kExpertDownQuantize);
  EXPECT_EQ(Gemm(ops, 3).input, model::Format::kFp8E4m3);
  EXPECT_EQ(Gemm(ops, 3).output, model::Format::kBf16);
}

TEST(MoeCases, FormatsWithoutAUnitHaveNoOps) {
  const MeasuredCase one = ReadOne(
      "B200_SXM,fp4,nvfp4,fused_moe_layer,4,64,32,2,8,1,1,balanced,50,vLLM,"
      "0.24.0,x");
  EXPECT_EQ(one.slice, "nvfp4");
  const auto profile = mansard::testing::ToyHardware().Build();
  EXPECT_FALSE(one.ops(profile->device(), profile->stacks()[0]).has_value());
  EXPECT_EQ(ReadOne("H100_SXM,bf16,int4,fused_moe_layer,4,64,32,2,8,1,1,"
                    "balanced,50,vLLM,0.24.0,marlin")
                .slice,
            "bf16 x int4");
}

TEST(MoeCases, LoneGemmsAreOneOp) {
  const OpList up =
      OpsOf(ReadOne("H800_SXM,fp8,fp8,grouped_gemm_up_masked,4,64,32,2,8,1,1,"
                    "uniform_expected,50,DeepGEMM,,x"));
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(Gemm(up, 0).n, 64);
  EXPECT_EQ(Gemm(up, 0).rows, 8);
  EXPECT_FALSE(Gemm(up, 0).even);
  const OpList down = OpsOf(
      ReadOne("H800_SXM,fp8,fp8,grouped_gemm_down_contiguous,4,64,32,2,8,1,1,"
              "uniform_expected,50,DeepGEMM,,x"));
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(Gemm(down, 0).n, 64);
  EXPECT_EQ(Gemm(down, 0).k, 32);
}

// Twice the columns with a gate, as many without.
TEST(MoeCases, GatesAreKnownByScopeKernelAndWidths) {
  const std::pair<const char*, bool> rows[] = {
      {"fused_moe_layer,4,64,32,2,8,1,1,balanced,50,vLLM,0.24.0,x", true},
      {"fused_moe_layer_ungated,4,64,32,2,8,1,1,balanced,50,vLLM,0.24.0,x",
       false},
      {"fused_moe_layer,4,64,32,2,8,1,1,balanced,50,TensorRT-LLM,1.3,"
       "moe_torch_flow_nongated",
       false},
      {"fused_moe_layer,4,64,32,22,512,1,1,balanced,50,vLLM,0.24.0,x", false},
      {"fused_moe_layer,4,64,32,22,512,1,1,balanced,50,vLLM,0.14.0,x", true},
      {"fused_moe_layer,4,2688,1856,6,128,1,1,balanced,50,SGLang,0.5.14,"
       "sglang_flashinfer_cutlass_moe",
       false},
      {"fused_moe_layer,4,2688,1856,6,128,1,1,balanced,50,SGLang,0.5.14,"
       "sglang_fused_moe_triton",
       true},
      {"fused_moe_layer,4,2688,1856,6,128,1,1,balanced,50,TensorRT-LLM,1.3,"
       "moe_torch_flow_cutlass",
       true},
  };
  for (const auto& [row, gated] : rows) {
    const OpList ops = OpsOf(ReadOne(std::string("H100_SXM,bf16,bf16,") + row));
    ASSERT_EQ(ops.size(), 4u);
    EXPECT_EQ(Gemm(ops, 0).n, (gated ? 2 : 1) * Gemm(ops, 2).k) << row;
  }
}

TEST(MoeCases, OldProgramOfOneEngineRanForeignRows) {
  const char kRow[] =
      ",fused_moe_layer,4,64,32,2,8,1,4,balanced,50,SGLang,0.5.10,"
      "sglang_fused_moe_triton";
  // Experts 0 and 1 are of tokens 0 and 1, whose other experts are foreign.
  const OpList wide =
      OpsOf(ReadOne(std::string("A100_SXM_80GB,bf16,bf16") + kRow));
  EXPECT_EQ(Gemm(wide, 0).rows, 4);
  EXPECT_EQ(Gemm(wide, 0).distinct_experts, 2);
  EXPECT_FALSE(Gemm(wide, 0).even);
  EXPECT_EQ(wide[3].work.activations_out.value(), 2 * 64 * 2);
  // Two tokens with two experts each, whatever the weights are.
  const OpList low =
      OpsOf(ReadOne(std::string("H100_SXM,fp8,fp8_block128") + kRow));
  EXPECT_EQ(Gemm(low, 0).rows, 4);
  const std::string marlin =
      ",fused_moe_layer,4,64,32,2,8,1,4,balanced,50,SGLang,0.5.10,"
      "sglang_marlin_moe";
  EXPECT_EQ(Gemm(OpsOf(ReadOne("B300_SXM,bf16,int4" + marlin)), 0).rows, 4);
  // Kernels that are told which rows are theirs.
  const std::string other =
      ",fused_moe_layer,4,64,32,2,8,1,4,balanced,50,SGLang,0.5.10,"
      "sglang_flashinfer_cutedsl_moe";
  EXPECT_EQ(Gemm(OpsOf(ReadOne("B300_SXM,bf16,bf16" + other)), 0).rows, 2);
}

TEST(MoeCases, OneBlockScaledKernelMultipliesTheRowsOfAllTokens) {
  const std::string row =
      "B200_SXM,fp8,fp8_block128,fused_moe_layer,4,64,32,2,8,1,4,balanced,50,"
      "TensorRT-LLM,1.3.0rc20,";
  // Four tokens with two experts each; the rank holds two of eight experts.
  const OpList ops = OpsOf(ReadOne(row + "moe_torch_flow_triton_fp8_block"));
  EXPECT_EQ(Gemm(ops, 0).rows, 8);
  EXPECT_LE(Gemm(ops, 0).distinct_experts, 2);
  EXPECT_EQ(Gemm(OpsOf(ReadOne(row + "moe_torch_flow")), 0).rows, 2);
}

TEST(MoeCases, GroupLimitedRoutersAreFlagged) {
  const std::string row =
      "B200_SXM,bf16,bf16,fused_moe_layer,32,7168,2048,8,256,1,1,";
  const std::string end = ",50,vLLM,0.24.0,x";
  EXPECT_EQ(ReadOne(row + "balanced" + end).flag, "group_limited_routing");
  EXPECT_EQ(ReadOne(row + "power_law_1.2" + end).flag, "");
}

TEST(MoeCases, ShapesAreOnOneSideForAllSpreads) {
  const std::string row =
      "B200_SXM,bf16,bf16,fused_moe_layer,32,7168,1024,8,256,1,2,";
  const std::string end = ",50,vLLM,0.24.0,x";
  EXPECT_EQ(ReadOne(row + "balanced" + end).side,
            ReadOne(row + "power_law_1.01" + end).side);
}

TEST(MoeCases, RowsOfAnotherKernelAreASliceOfTheirOwn) {
  const std::string row =
      "B200_SXM,bf16,bf16,fused_moe_layer,32,7168,1024,8,256,1,2,balanced,50,"
      "SGLang,0.5.14,";
  const auto cases = Read(row + "sglang_flashinfer_trtllm_moe" + kEnd + row +
                          "sglang_flashinfer_trtllm_moe" + kEnd + row +
                          "sglang_fused_moe_triton" + kEnd);
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].slice, "bf16");
  EXPECT_TRUE(cases[0].in_target);
  EXPECT_EQ(cases[2].slice, "bf16, triton");
  EXPECT_FALSE(cases[2].in_target);
}

TEST(MoeCases, RowsThatAreNoneAreLeftOut) {
  const std::string head = "B200_SXM,bf16,bf16,fused_moe_layer,";
  const char* const rows[] = {
      "0,64,32,2,8,1,1,balanced,50",  // No tokens.
      "4,64,32,2,8,1,3,balanced,50",  // Experts do not divide.
      "4,64,32,2,8,3,1,balanced,50",  // Nor does the width.
      "4,64,32,9,8,1,1,balanced,50",  // More than there are.
      "4,64,32,2,8,1,1,balanced,0",   // No time.
  };
  for (const char* row : rows) {
    EXPECT_TRUE(Read(head + row + ",vLLM,0.24.0,x" + kEnd).empty()) << row;
  }
}

TEST(MoeCases, ColumnsAreNamedThatAreMissing) {
  const auto cases = ReadMoeCases("device,scope\n");
  ASSERT_FALSE(cases.ok());
  EXPECT_THAT(std::string(cases.status().message()), HasSubstr("num_experts"));
}

TEST(MoeCases, MeasuredTableIsRead) {
  std::ifstream file(MANSARD_SOURCE_DIR
                     "/../shared/measured/grouped_gemm_moe.csv");
  if (!file)
    GTEST_SKIP() << "../shared/measured/grouped_gemm_moe.csv is absent";
  std::stringstream text;
  text << file.rdbuf();
  const auto cases = ReadMoeCases(text.str());
  ASSERT_TRUE(cases.ok()) << cases.status();
  EXPECT_GT(cases->size(), 24000u);
  size_t held_out = 0;
  for (const MeasuredCase& one : *cases) {
    held_out += one.side == Side::kHeldOut ? 1 : 0;
    ASSERT_GT(one.size, 0) << one.shape;
  }
  EXPECT_NEAR(
      static_cast<double>(held_out) / static_cast<double>(cases->size()), .5,
      .1);
}

}  // namespace
}  // namespace mansard::calibrate
