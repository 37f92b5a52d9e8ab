#include "model/base/violations.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace mansard::model {
namespace {

TEST(ViolationsTest, NoneIsOk) {
  const Violations violations;
  EXPECT_TRUE(violations.empty());
  EXPECT_TRUE(violations.ToStatus().ok());
}

TEST(ViolationsTest, StatusNamesAll) {
  Violations violations;
  violations.Add("batch", "is missing");
  violations.Add("", "no target");
  violations.Add("context", "is 0");
  EXPECT_FALSE(violations.empty());
  const absl::Status status = violations.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "batch: is missing; no target; context: is 0");
}

TEST(ViolationsTest, ScopesNest) {
  Violations violations;
  {
    Violations::Scope pass(violations, "forward_pass");
    {
      Violations::Scope group(violations, Indexed("groups", 2));
      violations.Add("request_count", "is 0");
      violations.Add("", "is empty");
    }
    violations.Add("groups", "too many");
  }
  violations.Add("target", "is missing");
  ASSERT_EQ(violations.all().size(), 4u);
  EXPECT_EQ(violations.all()[0].field, "forward_pass.groups[2].request_count");
  EXPECT_EQ(violations.all()[0].description, "is 0");
  EXPECT_EQ(violations.all()[1].field, "forward_pass.groups[2]");
  EXPECT_EQ(violations.all()[2].field, "forward_pass.groups");
  EXPECT_EQ(violations.all()[3].field, "target");
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Range {
  double value;
  double minimum;
  double maximum;
  const char* description;  // Empty: in range.
};

constexpr Range kRanges[] = {
    {1, 1, 1000000, ""},
    {1000000, 1, 1000000, ""},
    {0.5, 0, 1, ""},
    {0, 1, 1000000, "is 0; allowed: 1 to 1000000"},
    {-1, 1, 1000000, "is -1; allowed: 1 to 1000000"},
    {1000001, 1, 1000000, "is 1000001; allowed: 1 to 1000000"},
    {1.25, 0, 1, "is 1.25; allowed: 0 to 1"},
    {-0.001, 0, 0.5, "is -0.001; allowed: 0 to 0.5"},
    {1e300, 1, 4096, "is 1e+300; allowed: 1 to 4096"},
    {-1e300, 1, 4096, "is -1e+300; allowed: 1 to 4096"},
    {kInfinity, 1, 4096, "is inf; allowed: 1 to 4096"},
    {-kInfinity, 1, 4096, "is -inf; allowed: 1 to 4096"},
    {1e15, 1, 2, "is 1e+15; allowed: 1 to 2"},
    {999999999999999, 1, 2, "is 999999999999999; allowed: 1 to 2"},
};

TEST(ViolationsTest, CheckRange) {
  for (const Range& row : kRanges) {
    SCOPED_TRACE(row.value);
    Violations violations;
    const bool ok =
        violations.CheckRange("field", row.value, row.minimum, row.maximum);
    EXPECT_EQ(ok, row.description[0] == '\0');
    ASSERT_EQ(violations.empty(), ok);
    if (ok) continue;
    EXPECT_EQ(violations.all()[0].field, "field");
    EXPECT_EQ(violations.all()[0].description, row.description);
  }
}

TEST(ViolationsTest, NotANumberIsOutOfRange) {
  Violations violations;
  EXPECT_FALSE(violations.CheckRange("field", std::nan(""), 0, 1));
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].description, "is nan; allowed: 0 to 1");
}

TEST(ViolationsTest, Indexed) {
  EXPECT_EQ(Indexed("layer_kinds", 3), "layer_kinds[3]");
}

}  // namespace
}  // namespace mansard::model
