#include "server/convert/read_mask.h"

#include <gtest/gtest.h>

namespace mansard::server {
namespace {

TEST(ReadMask, NamesTheCostlyParts) {
  const struct {
    std::vector<const char*> paths;
    bool ops;
    bool waterfall;
  } kCases[] = {
      {{}, false, false},
      {{"estimate.ops"}, true, false},
      {{"estimate.waterfall"}, false, true},
      {{"estimate.ops", "estimate.waterfall"}, true, true},
      {{"estimate"}, true, true},
      {{"*"}, true, true},
      {{"memory"}, false, false},
      {{"estimate.time_seconds", "resolution.warnings"}, false, false},
  };
  for (const auto& test : kCases) {
    google::protobuf::FieldMask mask;
    for (const char* path : test.paths) mask.add_paths(path);
    model::Violations violations;
    const EstimateParts parts = FromProto(mask, violations);
    EXPECT_EQ(parts.ops, test.ops) << mask.ShortDebugString();
    EXPECT_EQ(parts.waterfall, test.waterfall) << mask.ShortDebugString();
    EXPECT_TRUE(violations.empty()) << mask.ShortDebugString();
  }
}

// Far more costly than the rest: only by their own names.
TEST(ReadMask, ChangesAreNamedThemselves) {
  google::protobuf::FieldMask mask;
  mask.add_paths("*");
  model::Violations violations;
  EXPECT_FALSE(FromProto(mask, violations).sensitivities);
  EXPECT_FALSE(FromProto(mask, violations).what_if);
  mask.add_paths("sensitivities");
  mask.add_paths("what_if");
  EXPECT_TRUE(FromProto(mask, violations).sensitivities);
  EXPECT_TRUE(FromProto(mask, violations).what_if);
  EXPECT_TRUE(violations.empty());
}

TEST(ReadMask, UnknownPathsAreViolations) {
  google::protobuf::FieldMask mask;
  mask.add_paths("estimate.ops");
  mask.add_paths("estimate.op");
  mask.add_paths("");
  mask.add_paths("estimate.ops.time_seconds");  // Below a repeated field.
  model::Violations violations;
  FromProto(mask, violations);
  ASSERT_EQ(violations.all().size(), 3u);
  EXPECT_EQ(violations.all()[0].field, "paths[1]");
  EXPECT_EQ(violations.all()[1].field, "paths[2]");
  EXPECT_EQ(violations.all()[2].field, "paths[3]");
}

}  // namespace
}  // namespace mansard::server
