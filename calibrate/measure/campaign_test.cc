#include "calibrate/measure/campaign.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "calibrate/measure/progress.h"
#include "calibrate/measure/scripted_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

Case Copy(int64_t bytes) { return {.kind = CaseKind::kCopy, .bytes = bytes}; }

class CampaignTest : public ::testing::Test {
 protected:
  CampaignTest()
      : path_(absl::StrCat(
            ::testing::TempDir(), "/campaign_",
            ::testing::UnitTest::GetInstance()->current_test_info()->name(),
            ".jsonl")) {
    std::filesystem::remove(path_);
    options_.date = "2026-11-30";
    options_.record_path = path_;
  }

  std::string FileText() const {
    std::ifstream file(path_);
    return std::string((std::istreambuf_iterator<char>(file)),
                       std::istreambuf_iterator<char>());
  }

  const std::string path_;
  ScriptedBackend backend_;
  CampaignOptions options_;
};

TEST_F(CampaignTest, RecordHoldsEverySampleAndResult) {
  const auto record = RunCampaign(backend_, {Copy(64), Copy(128)}, options_);
  ASSERT_TRUE(record.ok()) << record.status();
  ASSERT_EQ(record->results.size(), 2u);
  const std::string text = FileText();
  // A header, twice ten samples, twice a result.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 20 + 2);
  const auto read = ReadRecord(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->date, "2026-11-30");
  EXPECT_EQ(read->device.name, "A device of the test");
  ASSERT_EQ(read->results.size(), 2u);
  EXPECT_EQ(read->results[1].measured, Copy(128));
  EXPECT_DOUBLE_EQ(read->results[1].seconds.median, 1e-3);
  EXPECT_EQ(read->results[1].outcome, Outcome::kMeasured);
}

TEST_F(CampaignTest, GoesOnWhereItStood) {
  bool broken = true;
  backend_.run = [&](const Case& measured, int) -> absl::StatusOr<Sample> {
    if (broken && measured.bytes == 128) return absl::InternalError("broke");
    return Sample{1e-3};
  };
  ASSERT_TRUE(
      RunCampaign(backend_, {Copy(64), Copy(128), Copy(256)}, options_).ok());
  // As if it had been stopped in the middle of a line.
  std::ofstream(path_, std::ios::app) << "{\"case\": \"copy by";
  broken = false;
  backend_.runs = 0;
  const auto record =
      RunCampaign(backend_, {Copy(64), Copy(128), Copy(256)}, options_);
  ASSERT_TRUE(record.ok()) << record.status();
  // Only the one that failed is run again.
  EXPECT_EQ(backend_.runs, 12);
  for (const CaseResult& result : record->results) {
    EXPECT_EQ(result.outcome, Outcome::kMeasured) << CaseId(result.measured);
  }
  const auto read = ReadRecord(FileText());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->results.size(), 3u);
}

TEST_F(CampaignTest, RefusesAnotherDevicesRecord) {
  ASSERT_TRUE(RunCampaign(backend_, {Copy(64)}, options_).ok());
  backend_.device.id_hash = "0dd";
  const auto record = RunCampaign(backend_, {Copy(64)}, options_);
  EXPECT_EQ(record.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(record.status().message()),
              HasSubstr("is the record of another device"));
}

TEST_F(CampaignTest, BudgetSkipsWhatIsLeft) {
  options_.budget_seconds = 1;
  backend_.run = [](const Case&, int) { return Sample{.1}; };
  std::vector<Case> cases;
  for (int64_t i = 1; i <= 4; ++i) cases.push_back(Copy(64 * i));
  const auto record = RunCampaign(backend_, cases, options_);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_LT(backend_.now, 1.2);
  EXPECT_EQ(record->results.front().outcome, Outcome::kMeasured);
  EXPECT_EQ(record->results.back().outcome, Outcome::kSkipped);
  EXPECT_EQ(record->results.back().reason, "the budget of 1 s is spent");
}

TEST_F(CampaignTest, DeadDeviceEndsIt) {
  backend_.run = [](const Case&, int) -> absl::StatusOr<Sample> {
    return absl::InternalError("no answer");
  };
  std::vector<Case> cases;
  for (int64_t i = 1; i <= 5; ++i) cases.push_back(Copy(64 * i));
  const auto record = RunCampaign(backend_, cases, options_);
  EXPECT_EQ(record.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(record.status().message()),
              HasSubstr("3 cases failed one after the other, the last: copy "
                        "bytes=192: no answer"));
  EXPECT_EQ(backend_.runs, 3);
}

TEST_F(CampaignTest, ProgressCountsCases) {
  std::vector<std::string> bars;
  options_.progress = [&](const Standing& standing) {
    bars.push_back(BarText(standing));
  };
  ASSERT_TRUE(RunCampaign(backend_, {Copy(64), Copy(128)}, options_).ok());
  EXPECT_THAT(bars, ::testing::ElementsAre(
                        "[........................] 0/2  0:00 of 10:00",
                        "[############............] 1/2  0:00 of 10:00",
                        "[########################] 2/2  0:00 of 10:00"));
}

TEST(Progress, ResultSaysRateOrReason) {
  CaseResult result;
  result.measured = {.kind = CaseKind::kGemm, .m = 100, .n = 100, .k = 100};
  result.outcome = Outcome::kSkipped;
  result.reason = "no library";
  EXPECT_THAT(ResultText(result), HasSubstr("  skipped  no library"));
  result.outcome = Outcome::kMeasured;
  result.reason = "";
  result.seconds = {
      .count = 10, .median = 1e-4, .low = .99e-4, .high = 1.01e-4};
  EXPECT_THAT(ResultText(result), HasSubstr("100.0 us +-1.0 %  20 GFLOP/s"));
}

TEST(ReadRecord, NamesTheLine) {
  const std::string header = HeaderLine({.backend = "cpu", .id_hash = "1"}, "");
  const std::string other = HeaderLine({.backend = "cpu", .id_hash = "2"}, "");
  const std::pair<std::string, const char*> kCases[] = {
      {"", "line 1: the header is missing"},
      {"{}\n", "line 1: is no header of a \"mansard-calibrate\" record"},
      {"[1]\n", "line 1: is no JSON object"},
      {header + "copy\n", "line 2: is no JSON object"},
      {header + other, "line 2: is of the device 2, the record of 1"},
      {header + "{\"outcome\": \"measured\", \"kind\": \"fly\"}\n",
       "line 2: kind: \"fly\" is not known"},
      {header + "{\"outcome\": \"fine\", \"kind\": \"copy\"}\n",
       "line 2: outcome: \"fine\"; allowed: measured, noisy, skipped, failed"},
      {header + "{\"outcome\": \"measured\", \"kind\": \"copy\", \"sizes\": "
                "{\"bytes\": -1}}\n",
       "line 2: sizes: bytes = -1 is below 1"},
      {header + "{\"outcome\": \"measured\", \"kind\": \"copy\"}\n",
       "line 2: median_seconds, low_seconds, high_seconds: must be above 0"},
  };
  for (const auto& [text, message] : kCases) {
    const auto record = ReadRecord(text);
    ASSERT_FALSE(record.ok()) << text;
    EXPECT_THAT(std::string(record.status().message()), HasSubstr(message));
  }
}

TEST(Statistics, MedianAndIntervalByOrder) {
  // Binomial ranks of 10 samples at 95 %: the second and the ninth smallest.
  std::vector<double> samples;
  for (int i = 1; i <= 10; ++i) samples.push_back(i);
  const SampleStatistics ten = Summarize(samples);
  EXPECT_DOUBLE_EQ(ten.median, 5.5);
  EXPECT_DOUBLE_EQ(ten.low, 2);
  EXPECT_DOUBLE_EQ(ten.high, 9);
  EXPECT_DOUBLE_EQ(ten.deviation, 2.5);
  const SampleStatistics few = Summarize({3, 1, 2});
  EXPECT_DOUBLE_EQ(few.median, 2);
  EXPECT_DOUBLE_EQ(few.low, 1);
  EXPECT_DOUBLE_EQ(few.high, 3);
}

}  // namespace
}  // namespace mansard::calibrate
