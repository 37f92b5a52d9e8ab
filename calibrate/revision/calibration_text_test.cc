#include "calibrate/revision/calibration_text.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "mansard/v1/calibration_service.pb.h"

namespace mansard::calibrate {
namespace {

CaseResult Result(Outcome outcome, const std::string& reason) {
  CaseResult result;
  result.measured.kind = CaseKind::kGemm;
  result.measured.m = 16;
  result.measured.n = 32;
  result.measured.k = 64;
  result.outcome = outcome;
  result.reason = reason;
  if (outcome == Outcome::kSkipped) return result;
  result.seconds = Summarize({2e-3, 2.1e-3, 1.9e-3, 2e-3, 2e-3, 2e-3, 2e-3});
  result.rejected = 3;
  result.run_operations = 65536;
  return result;
}

// Against the message itself, which the writer does not know.
TEST(CalibrationTextTest, IsTheServicesMessage) {
  Record record;
  record.date = "2026-11-30";
  record.device.id_hash = "ab12";
  record.device.notes = {{"driver", "575.57"}, {"cuda", "12.9"}};
  record.results = {Result(Outcome::kMeasured, "one outlier"),
                    Result(Outcome::kNoisy, "5.1 % wide, \"twice\"\n"),
                    Result(Outcome::kSkipped, "no library"),
                    Result(Outcome::kFailed, "wrong: \xc2\xb5")};
  v1::HardwareProfile profile;
  v1::KernelStack& stack = *profile.add_kernel_stacks();
  stack.set_stack("calibrated");
  stack.add_families()->set_family("gemm");
  const auto text = CalibrationText(record, profile);
  ASSERT_TRUE(text.ok()) << text.status();
  v1::Calibration calibration;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(*text, &calibration))
      << *text;
  EXPECT_EQ(calibration.device_hash(), "ab12");
  EXPECT_EQ(calibration.driver_version(), "575.57");
  EXPECT_EQ(calibration.cuda_version(), "12.9");
  EXPECT_EQ(calibration.fitted_stack().SerializeAsString(),
            stack.SerializeAsString());
  ASSERT_EQ(calibration.measurements_size(), 4);
  const v1::Measurement& first = calibration.measurements(0);
  EXPECT_EQ(first.case_(), "gemm m=16 n=32 k=64");
  EXPECT_EQ(first.op_kind(), "gemm");
  EXPECT_DOUBLE_EQ(first.median_seconds(), 2e-3);
  EXPECT_GT(first.relative_spread_ratio(), 0);
  EXPECT_EQ(first.sample_count(), 7);
  EXPECT_EQ(first.discarded_sample_count(), 3);
  EXPECT_EQ(first.flops(), 65536);
  // Operands and results, four bytes each.
  EXPECT_EQ(first.moved_bytes(), 4 * (16 * 64 + 32 * 64 + 16 * 32));
  EXPECT_EQ(first.outcome(), v1::Measurement::OUTCOME_MEASURED);
  EXPECT_EQ(first.reason(), "");
  EXPECT_EQ(calibration.measurements(1).outcome(),
            v1::Measurement::OUTCOME_UNSTABLE);
  EXPECT_EQ(calibration.measurements(1).reason(), "5.1 % wide, \"twice\"\n");
  EXPECT_EQ(calibration.measurements(2).outcome(),
            v1::Measurement::OUTCOME_WAIVED);
  EXPECT_EQ(calibration.measurements(2).sample_count(), 0);
  EXPECT_EQ(calibration.measurements(3).outcome(),
            v1::Measurement::OUTCOME_FAILED);
  EXPECT_EQ(calibration.measurements(3).reason(), "wrong: \xc2\xb5");
}

TEST(CalibrationTextTest, NeedsAStack) {
  EXPECT_EQ(CalibrationText({}, {}).status().message(),
            "the profile has no stack");
  EXPECT_EQ(WriteCalibration("/nonexistent", "a", "b").code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace mansard::calibrate
