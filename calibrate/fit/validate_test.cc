// The shipped stacks against the measured tables, where they are at hand.

#include "calibrate/fit/validate.h"

#include <fstream>
#include <iterator>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

const model::ShippedData& Data() {
  static const model::ShippedData* const kData =
      new model::ShippedData(*model::LoadShippedData());
  return *kData;
}

GemmRow H100Row() {
  GemmRow row;
  row.device = "H100_SXM";
  row.framework = "vLLM";
  row.version = "0.24.0";
  row.input_format = row.weight_format = row.output_format = "bf16";
  row.quantization = "none";
  row.scope = "gemm";
  row.m = row.n = row.k = 4096;
  row.time = model::Microseconds(200);
  return row;
}

TEST(Validate, AsksTheRowsOwnStack) {
  const auto judged = Validate({H100Row()}, Data(), {.fitted_rows = true});
  ASSERT_TRUE(judged.ok());
  ASSERT_EQ(judged->size(), 1u);
  EXPECT_EQ((*judged)[0].stack, "vllm-0.24");
  EXPECT_EQ((*judged)[0].tier, model::Tier::kCalibrated);
  EXPECT_EQ((*judged)[0].answered, 1u);
  // 2 * 4096^3 / 989.4e12 is 138.9 us: the roofline is 30.5 % short of 200.
  EXPECT_NEAR((*judged)[0].large_roofline.mean, .305, .002);
  const auto generic =
      Validate({H100Row()}, Data(), {.spec_tier = true, .fitted_rows = true});
  EXPECT_EQ((*generic)[0].stack, "generic");
  EXPECT_EQ((*generic)[0].tier, model::Tier::kSpec);
}

TEST(Validate, RowsThatNothingAnswersStay) {
  GemmRow strange = H100Row();
  strange.input_format = "posit16";
  GemmRow flagged = H100Row();
  flagged.flag = "faster_than_peak_flops";
  GemmRow elsewhere = H100Row();
  elsewhere.device = "ABACUS";
  const auto judged =
      Validate({strange, flagged, elsewhere}, Data(), {.fitted_rows = true});
  ASSERT_EQ(judged->size(), 2u);  // The flagged one counts for nothing.
  for (const Judgement& one : *judged) {
    EXPECT_EQ(one.rows, 1u);
    EXPECT_EQ(one.answered, 0u);
  }
}

TEST(Validate, NamesWhatIsUnknown) {
  const auto message = [](const ValidateOptions& options) {
    return std::string(
        Validate({H100Row()}, Data(), options).status().message());
  };
  EXPECT_THAT(message({.hardware = "x", .fitted_rows = true}),
              HasSubstr("hardware: \"x\" is not in the catalog"));
  EXPECT_THAT(message({.stack = "x", .fitted_rows = true}),
              HasSubstr("stack: h100-sxm has no \"x\""));
}

TEST(Validate, TextAndJsonHaveTheFigures) {
  const auto judged = *Validate({H100Row()}, Data(), {.fitted_rows = true});
  EXPECT_THAT(ToTable(judged), HasSubstr("H100_SXM"));
  EXPECT_THAT(ToJson(judged), HasSubstr("\"stack\":\"vllm-0.24\""));
  EXPECT_THAT(ToJson(judged), HasSubstr("\"answered_count\":1"));
}

// Mean errors of rows that no fit saw, n, k >= 512, in percent, as recorded;
// half a point more fails.
TEST(Validate, HeldOutErrorsStayAsRecorded) {
  const std::string path =
      std::string(MANSARD_SOURCE_DIR) + "/../shared/measured/gemm.csv";
  std::ifstream file(path, std::ios::binary);
  if (!file) GTEST_SKIP() << path << " is not here: nothing to judge by";
  const std::string text((std::istreambuf_iterator<char>(file)),
                         std::istreambuf_iterator<char>());
  const auto rows = ReadGemmRows(text);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  const auto judged = Validate(*rows, Data(), {});
  ASSERT_TRUE(judged.ok());
  std::map<std::string, double> recorded = {
      {"A100_SXM_80GB bf16 sglang-0.5.10", 6.3},
      {"A100_SXM_80GB bf16 trtllm-1.0", 6.2},
      {"A100_SXM_80GB bf16 vllm-0.14", 6.4},
      {"B200_SXM bf16 sglang-0.5.14", 8.1},
      {"B200_SXM bf16 trtllm-1.3.0rc20", 7.8},
      {"B200_SXM bf16 vllm-0.24", 6.8},
      {"B300_SXM bf16 sglang-0.5.10", 7.2},
      {"B300_SXM bf16 trtllm-1.3.0rc20", 8.3},
      {"B300_SXM bf16 vllm-0.24", 6.7},
      {"GB200 bf16 sglang-0.5.14", 8.7},
      {"GB200 bf16 trtllm-1.3.0rc20", 8.2},
      {"GB200 bf16 vllm-0.24", 8.0},
      {"H100_SXM bf16 sglang-0.5.14", 6.2},
      {"H100_SXM bf16 trtllm-1.3.0rc20", 5.2},
      {"H100_SXM bf16 vllm-0.24", 6.6},
      {"H200_SXM bf16 sglang-0.5.14", 6.9},
      {"H200_SXM bf16 trtllm-1.3.0rc20", 4.2},
      {"H200_SXM bf16 vllm-0.24", 5.2},
      {"RTX_4090 bf16 vllm-0.19", 3.3},
      {"RTX_PRO_6000_SERVER bf16 sglang-0.5.14", 11.5},
      {"RTX_PRO_6000_SERVER bf16 trtllm-1.3.0rc20", 16.2},
      {"RTX_PRO_6000_SERVER bf16 vllm-0.19", 6.9},
      {"RTX_PRO_6000_SERVER bf16 vllm-0.24", 10.8},
  };
  for (const Judgement& one : *judged) {
    const std::string key = one.device + " " + one.formats + " " + one.stack;
    const auto found = recorded.find(key);
    if (found == recorded.end()) continue;
    EXPECT_EQ(one.answered, one.rows) << key;
    EXPECT_LE(100 * one.large.mean, found->second + .5) << key;
    EXPECT_LT(one.large.mean, one.large_roofline.mean) << key;
    EXPECT_GE(one.large.in_range, .7) << key;
    recorded.erase(found);
  }
  EXPECT_TRUE(recorded.empty())
      << recorded.begin()->first << " has no rows any more";
}

}  // namespace
}  // namespace mansard::calibrate
