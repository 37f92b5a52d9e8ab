#include "calibrate/judge/judge.h"

#include "calibrate/judge/validation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_measured.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

// Answers of 100 us, between 90 and 120 us, a roofline of 50 us.
Prediction Hundred() {
  static const model::ShippedData* const kData =
      new model::ShippedData(ToyData({"generic"}));
  Prediction prediction;
  prediction.estimate = model::Microseconds(100);
  prediction.p10 = model::Microseconds(90);
  prediction.p90 = model::Microseconds(120);
  prediction.roofline = model::Microseconds(50);
  prediction.stack = &kData->profiles.at("h100-sxm")->stacks().front();
  return prediction;
}

MeasuredCase Row(size_t row, double microseconds) {
  MeasuredCase measured = CaseOf({}, microseconds);
  measured.row = row;
  measured.size = static_cast<double>(row);
  return measured;
}

std::vector<CaseAnswer> Hundreds(size_t count) {
  return std::vector<CaseAnswer>(count, Hundred());
}

TEST(Judge, TakesTheErrorsOfAGroup) {
  std::vector<MeasuredCase> cases = {Row(0, 80), Row(1, 100), Row(2, 200),
                                     Row(3, 125)};
  cases[3].in_target = false;
  const auto judged = Judge(cases, Hundreds(4), {});
  ASSERT_EQ(judged.size(), 1u);
  const Judgement& one = judged[0];
  EXPECT_EQ(one.stack, "generic");
  EXPECT_EQ(one.rows, 4u);
  EXPECT_EQ(one.answered, 4u);
  // +25 %, 0, -50 %, and outside the target -20 %.
  EXPECT_EQ(one.in_target.rows, 3u);
  EXPECT_NEAR(one.in_target.mean, .25, 1e-12);
  EXPECT_NEAR(one.in_target.bias, -.25 / 3, 1e-12);
  EXPECT_NEAR(one.in_target.in_range, 1. / 3, 1e-12);
  EXPECT_NEAR(one.all.mean, .95 / 4, 1e-12);
  // 50 us of 80, 100, 200: -37.5, -50, -75 %.
  EXPECT_NEAR(one.in_target_roofline.mean, 1.625 / 3, 1e-12);
  EXPECT_EQ(one.all_roofline.rows, 4u);
  ASSERT_EQ(one.deciles.size(), 4u);
  EXPECT_NEAR(one.deciles[2].errors.mean, .5, 1e-12);
}

TEST(Judge, CountsOnlyRowsOfItsSideWithoutFlag) {
  std::vector<MeasuredCase> cases = {Row(0, 100), Row(1, 100), Row(2, 100)};
  cases[0].side = Side::kFitted;
  cases[1].flag = "faster_than_peak_flops";
  EXPECT_EQ(Judge(cases, Hundreds(3), {})[0].rows, 1u);
  EXPECT_EQ(Judge(cases, Hundreds(3), {.all_rows = true})[0].rows, 2u);
  cases[2].side = Side::kFitted;
  EXPECT_TRUE(Judge(cases, Hundreds(3), {}).empty());
}

TEST(Judge, SeparatesAndOrdersGroups) {
  std::vector<MeasuredCase> cases;
  const auto add = [&cases](const char* table, const char* slice, double time,
                            bool in_target) {
    cases.push_back(Row(cases.size(), time));
    cases.back().table = table;
    cases.back().slice = slice;
    cases.back().in_target = in_target;
  };
  add("gemm", "good", 101, true);
  add("gemm", "outside", 1000, false);
  add("gemm", "bad", 300, true);
  add("attention", "only", 110, true);
  std::vector<std::string> order;
  for (const Judgement& one : Judge(cases, Hundreds(4), {})) {
    order.push_back(one.table + " " + one.slice);
  }
  EXPECT_THAT(order, ::testing::ElementsAre("gemm bad", "gemm good",
                                            "gemm outside", "attention only"));
}

TEST(Judge, KeepsReasonsAndTheWeakestTier) {
  Prediction transferred = Hundred();
  transferred.tier = model::Tier::kTransferred;
  const auto judged =
      Judge({Row(0, 100), Row(1, 100), Row(2, 100), Row(3, 100)},
            {Unanswered::kWork, Hundred(), transferred, Unanswered::kWork}, {});
  EXPECT_EQ(judged[0].rows, 4u);
  EXPECT_EQ(judged[0].answered, 2u);
  EXPECT_EQ(judged[0].unanswered[static_cast<size_t>(Unanswered::kWork)], 2u);
  EXPECT_EQ(judged[0].unanswered[static_cast<size_t>(Unanswered::kDevice)], 0u);
  EXPECT_EQ(judged[0].tier, model::Tier::kTransferred);
}

TEST(Judge, KeepsTheWorstRows) {
  const auto judged = Judge({Row(4, 99), Row(5, 50), Row(6, 1000), Row(7, 50)},
                            Hundreds(4), {.worst_rows = 3});
  ASSERT_EQ(judged[0].worst.size(), 3u);
  // +100 % twice, the first first, then -90 %.
  EXPECT_EQ(judged[0].worst[0].row, 5u);
  EXPECT_EQ(judged[0].worst[1].row, 7u);
  EXPECT_EQ(judged[0].worst[2].row, 6u);
  EXPECT_NEAR(model::ToMicroseconds(judged[0].worst[2].measured), 1000, 1e-6);
  EXPECT_NEAR(model::ToMicroseconds(judged[0].worst[2].predicted), 100, 1e-6);
}

TEST(Judge, KnowsWhatMissesItsTarget) {
  // bf16 products on an H100: 6 %.
  EXPECT_FALSE(Judge({Row(0, 105)}, Hundreds(1), {})[0].Misses());
  EXPECT_TRUE(Judge({Row(0, 107)}, Hundreds(1), {})[0].Misses());
  std::vector<MeasuredCase> outside = {Row(0, 107)};
  outside[0].in_target = false;
  EXPECT_FALSE(Judge(outside, Hundreds(1), {})[0].Misses());
  // The median of 0, 0 and 50 % is 0; the mean is not.
  std::vector<MeasuredCase> experts = {Row(0, 100), Row(1, 100), Row(2, 200)};
  for (MeasuredCase& one : experts) one.table = "grouped_gemm_moe";
  EXPECT_FALSE(Judge(experts, Hundreds(3), {})[0].Misses());
}

constexpr char kTable[] =
    "device,dtype_in,dtype_weight,dtype_out,quant,batch,m,n,k,latency_us,"
    "framework,framework_version,scope,flag,source\n"
    "H100_SXM,bf16,bf16,bf16,none,1,4096,4096,4096,200,vLLM,0.24.0,gemm,,s\n";

TEST(Validate, AsksTheShippedStacks) {
  size_t calls = 0;
  ValidationOptions options;
  options.judge.all_rows = true;
  options.progress = [&calls](size_t, size_t) { ++calls; };
  const auto validation = Validate({{"a.csv", kTable}}, options);
  ASSERT_TRUE(validation.ok());
  ASSERT_EQ(validation->judgements.size(), 1u);
  EXPECT_EQ(validation->judgements[0].stack, "vllm-0.24");
  EXPECT_EQ(validation->judgements[0].tier, model::Tier::kCalibrated);
  // 2 * 4096^3 / 989.4e12 is 138.9 us: the roofline is 30.5 % short of 200.
  EXPECT_NEAR(validation->judgements[0].all_roofline.mean, .305, .002);
  EXPECT_TRUE(validation->predictions.empty());
  options.place.spec_tier = true;
  EXPECT_EQ(Validate({{"a.csv", kTable}}, options)->judgements[0].tier,
            model::Tier::kSpec);
}

TEST(Validate, NamesTheTableThatIsNone) {
  const auto validation = Validate({{"a.csv", kTable}, {"b.csv", "x,y\n"}}, {});
  EXPECT_THAT(std::string(validation.status().message()),
              HasSubstr("b.csv: the columns are those of no known table"));
}

}  // namespace
}  // namespace mansard::calibrate
