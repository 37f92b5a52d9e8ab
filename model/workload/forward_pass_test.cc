#include "model/workload/forward_pass.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::vector<RequestGroup> groups, int64_t max_context) {
  Violations violations;
  EXPECT_FALSE(ForwardPass::Create(std::move(groups), max_context, violations)
                   .has_value());
  return std::string(violations.ToStatus().message());
}

TEST(ForwardPass, SumsByRole) {
  Violations violations;
  const auto pass = ForwardPass::Create({{Role::kPrefill, 2, 100, 50},
                                         {Role::kDecode, 3, 1, 9},
                                         {Role::kDecode, 4, 5, 0}},
                                        150, violations);
  ASSERT_TRUE(pass.has_value()) << violations.ToStatus();
  EXPECT_EQ(pass->phase(), Phase::kMixed);
  EXPECT_EQ(pass->total_new_tokens(), 2 * 100 + 3 + 20);
  EXPECT_EQ(pass->request_count(), 9);
  EXPECT_EQ(pass->prefill_tokens(), 200);
  // One a prompt, every new token of a decode.
  EXPECT_EQ(pass->logit_positions(), 2 + 3 + 20);
}

TEST(ForwardPass, PhaseFollowsRoles) {
  Violations violations;
  EXPECT_EQ(
      ForwardPass::Create({{Role::kPrefill, 1, 1, 0}}, 9, violations)->phase(),
      Phase::kPrefill);
  EXPECT_EQ(
      ForwardPass::Create({{Role::kDecode, 1, 1, 0}}, 9, violations)->phase(),
      Phase::kDecode);
}

TEST(ForwardPass, NamesEveryBrokenRuleAtOnce) {
  const std::string error =
      ErrorOf({{Role::kDecode, 0, 1, 0}, {Role::kPrefill, 1, -3, -1}}, 1000);
  EXPECT_THAT(error, HasSubstr("groups[0].request_count: is 0; allowed: 1 to "
                               "1000000"));
  EXPECT_THAT(error, HasSubstr("groups[1].new_token_count: is -3"));
  EXPECT_THAT(error, HasSubstr("groups[1].prior_token_count: is -1"));
}

TEST(ForwardPass, RejectsWhatIsOutOfRange) {
  struct Case {
    RequestGroup group;
    const char* want;
  };
  const Case kCases[] = {
      {{Role::kDecode, 1'000'001, 1, 0}, "request_count: is 1000001"},
      {{Role::kDecode, -5, 1, 0}, "request_count: is -5"},
      {{Role::kDecode, 1, 0, 5}, "new_token_count: is 0"},
      {{Role::kPrefill, 1, 10'000'001, 0}, "new_token_count: is 10000001"},
      // Context 1001 where 1000 is the model's longest.
      {{Role::kDecode, 1, 1, 1000},
       "prior_token_count: is 1000, which with 1 new tokens exceeds the "
       "model's longest context; allowed: 0 to 999"},
      {{Role::kPrefill, 1, 2000, 0}, "allowed: 0 to 0"},
      {{Role::kDecode, 1, 1, INT64_MAX}, "is 9223372036854775807"},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(ErrorOf({c.group}, 1000), HasSubstr(c.want));
  }
  EXPECT_THAT(ErrorOf({}, 1000), HasSubstr("groups: has 0 entries"));
  EXPECT_THAT(
      ErrorOf(std::vector<RequestGroup>(1025, {Role::kDecode, 1, 1, 0}), 1000),
      HasSubstr("has 1025 entries; allowed: 1 to 1024"));
  // Each group is in range; together they compute too much.
  EXPECT_THAT(ErrorOf({{Role::kPrefill, 1'000'000, 1001, 0}}, 1'000'000),
              HasSubstr("compute 1001000000 tokens in one pass"));
}

TEST(ForwardPass, TakesTheWholeContext) {
  Violations violations;
  EXPECT_TRUE(
      ForwardPass::Create({{Role::kDecode, 1, 1, 999}}, 1000, violations)
          .has_value());
}

}  // namespace
}  // namespace mansard::model
