#include "calibrate/judge/predictions.h"

#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

Prediction Answer() {
  Prediction prediction;
  prediction.estimate = model::Microseconds(12.5);
  prediction.p10 = model::Microseconds(10);
  prediction.p90 = model::Microseconds(1234567);
  prediction.floor = model::Microseconds(.125);
  prediction.bound = model::Bound::kOverhead;
  prediction.tier = model::Tier::kTransferred;
  prediction.extrapolated = true;
  return prediction;
}

MeasuredCase Row(size_t row) {
  MeasuredCase measured;
  measured.row = row;
  return measured;
}

TEST(Predictions, StandBesideEveryRow) {
  // Quoted cells, line ends and the missing last one stay or go as CSV has it.
  const auto text =
      WithPredictions("a,b\r\n1,\"x, \"\"y\"\"\"\n2,\"two\nlines\"\n3,\n4,4",
                      {Row(1), Row(3)}, {Answer(), Unanswered::kWork});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(
      *text,
      "a,b,predicted_us,p10_us,p90_us,floor_us,bound,tier,extrapolated\n"
      "1,\"x, \"\"y\"\"\",,,,,,,\n"
      "2,\"two\nlines\",12.5,10,1.23457e+06,0.125,overhead,transferred,1\n"
      "3,,,,,,,,\n"
      "4,4,,,,,,,\n");
}

TEST(Predictions, FailOnWhatIsNoTable) {
  EXPECT_FALSE(WithPredictions("a,b\n1\n", {}, {}).ok());
}

}  // namespace
}  // namespace mansard::calibrate
