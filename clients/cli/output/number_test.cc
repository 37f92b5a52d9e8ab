#include "clients/cli/output/number.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace mansard::cli {
namespace {

TEST(Number, WithUnit) {
  struct Case {
    double value;
    Unit unit;
    const char* text;
  };
  const Case cases[] = {
      {0.0149, Unit::kSeconds, "14.9 ms"},
      {1.6e-6, Unit::kSeconds, "1.60 us"},
      {5e-10, Unit::kSeconds, "0.50 ns"},
      {0, Unit::kSeconds, "0 s"},
      {72, Unit::kSeconds, "72.0 s"},
      {134217728, Unit::kBytes, "134 MB"},
      {85018877624, Unit::kBytes, "85.0 GB"},
      {3.35e12, Unit::kBytesPerSecond, "3.35 TB/s"},
      {1.979e15, Unit::kFlopsPerSecond, "1,979 TFLOP/s"},
      {1.83e9, Unit::kHertz, "1.83 GHz"},
      {700, Unit::kWatts, "700 W"},
      {-58.8e9, Unit::kBytes, "-58.8 GB"},
      {std::numeric_limits<double>::infinity(), Unit::kBytes, "-"},
      {std::nan(""), Unit::kBytes, "-"},
  };
  for (const Case& c : cases) EXPECT_EQ(WithUnit(c.value, c.unit), c.text);
}

TEST(Number, Grouped) {
  EXPECT_EQ(Grouped(int64_t{0}), "0");
  EXPECT_EQ(Grouped(int64_t{999}), "999");
  EXPECT_EQ(Grouped(int64_t{-1000}), "-1,000");
  EXPECT_EQ(Grouped(int64_t{32762123264}), "32,762,123,264");
  EXPECT_EQ(Grouped(std::numeric_limits<int64_t>::min()),
            "-9,223,372,036,854,775,808");
  EXPECT_EQ(Grouped(1234.5, 2), "1,234.50");
  EXPECT_EQ(Grouped(-999.999, 1), "-1,000.0");
}

TEST(Number, ScaleLeavesOneToThreeDigits) {
  EXPECT_EQ(ScaleFor(Unit::kBytes, 999).label, "B");
  EXPECT_EQ(ScaleFor(Unit::kBytes, 1000).label, "kB");
  EXPECT_EQ(ScaleFor(Unit::kSeconds, 0).label, "s");
  EXPECT_EQ(ScaleFor(Unit::kSeconds, 999e-6).label, "us");
  EXPECT_EQ(ScaleFor(Unit::kParameters, 8.03e9).label, "B");
  EXPECT_EQ(ScaleFor(Unit::kPercent, 0.5).factor, 0.01);
}

}  // namespace
}  // namespace mansard::cli
