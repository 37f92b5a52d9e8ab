#include "model/workload/forward_pass.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(RequestGroups groups, int64_t max_context) {
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
  EXPECT_THAT(ErrorOf(RequestGroups(1025, {Role::kDecode, 1, 1, 0}), 1000),
              HasSubstr("has 1025 entries; allowed: 1 to 1024"));
  // Each group is in range; together they compute too much.
  EXPECT_THAT(ErrorOf({{Role::kPrefill, 1'000'000, 1001, 0}}, 1'000'000),
              HasSubstr("compute 1001000000 tokens in one pass"));
}

TEST(ForwardPass, CountsEncoderPositions) {
  Violations violations;
  const auto pass = ForwardPass::Create({{Role::kPrefill, 2, 100, 0, 50},
                                         {Role::kPrefill, 2, 100, 10, 50},
                                         {Role::kDecode, 3, 1, 0, 7},
                                         {Role::kDecode, 4, 5, 0}},
                                        150, violations);
  ASSERT_TRUE(pass.has_value()) << violations.ToStatus();
  EXPECT_EQ(pass->encoder_tokens(), 2 * 100 + 3 * 7);
  // With a prompt's first tokens alone.
  EXPECT_TRUE(pass->groups()[0].computes_encoder());
  for (size_t i : {1, 2, 3}) {
    EXPECT_FALSE(pass->groups()[i].computes_encoder()) << i;
  }
  pass->RefuseEncoder(violations);
  ASSERT_EQ(violations.all().size(), 3u);
  EXPECT_EQ(violations.all()[2].field, "groups[2].encoder_token_count");
  EXPECT_EQ(violations.all()[2].description,
            "is 7; the model has no cross-attention, so it must be 0");
}

TEST(ForwardPass, BoundsEncoderPositions) {
  EXPECT_THAT(ErrorOf({{Role::kPrefill, 1, 1, 0, -1}}, 1000),
              HasSubstr("groups[0].encoder_token_count: is -1; allowed: 0 to "
                        "10000000"));
  EXPECT_THAT(ErrorOf({{Role::kPrefill, 1, 1, 0, 10'000'001}}, 1000),
              HasSubstr("encoder_token_count: is 10000001"));
  EXPECT_THAT(
      ErrorOf({{Role::kDecode, 1'000'000, 1, 0, 1001}}, 1'000'000),
      HasSubstr("groups: have 1001000000 encoder positions in one pass; "
                "allowed: 0 to 1000000000"));
}

ForwardPass Verifying(int64_t new_tokens) {
  Violations violations;
  return *ForwardPass::Create({{Role::kPrefill, 1, 50, 0},
                               {Role::kDecode, 3, new_tokens, 100},
                               {Role::kDecode, 1, new_tokens, 7}},
                              1000, violations);
}

// (1 - a^(n + 1)) / (1 - a).
TEST(ForwardPass, GainsWhatTheCallerSaysIsAccepted) {
  const struct {
    int drafts;
    double rate;
    double want;
  } kCases[] = {{3, 0.8, 2.952}, {1, 0.85, 1.85}, {2, 0, 1},
                {4, 1, 5},       {2, 0.5, 1.75},  {0, 0.9, 1}};
  for (const auto& [drafts, rate, want] : kCases) {
    Violations violations;
    const auto pass =
        Verifying(1 + drafts)
            .WithDrafting({.draft_tokens = drafts, .acceptance_rate = rate}, 1,
                          violations);
    ASSERT_TRUE(pass.has_value()) << violations.ToStatus();
    EXPECT_NEAR(*pass->ExpectedTokensPerDecode(), want, 1e-12);
  }
  Violations violations;
  const auto silent =
      Verifying(3).WithDrafting({.draft_tokens = 2}, 1, violations);
  EXPECT_FALSE(silent->ExpectedTokensPerDecode().has_value());
}

// One module: all new tokens at first, then each draft on top of the last. Two
// in turn: each has a first run.
TEST(ForwardPass, ModulesRunOverDecodes) {
  const ForwardPass pass = Verifying(3);
  const struct {
    int draft, modules;
    int64_t new_tokens, prior;  // Of the group with 100 cached.
  } kCases[] = {{0, 1, 3, 100}, {1, 1, 1, 103}, {2, 1, 1, 104}, {3, 1, 1, 105},
                {0, 2, 3, 100}, {1, 2, 3, 100}, {2, 2, 1, 103}, {4, 2, 1, 104}};
  for (const auto& [draft, modules, new_tokens, prior] : kCases) {
    const ForwardPass run = pass.DraftRun(draft, modules);
    ASSERT_EQ(run.groups().size(), 2u);
    EXPECT_EQ(run.phase(), Phase::kDecode);
    EXPECT_EQ(run.groups()[0].request_count, 3);
    EXPECT_EQ(run.groups()[0].new_tokens, new_tokens);
    EXPECT_EQ(run.groups()[0].prior_tokens, prior);
    EXPECT_EQ(run.groups()[1].prior_tokens, prior - 93);
  }
}

TEST(ForwardPass, RefusesDraftsThatCannotBe) {
  const auto error = [](const ForwardPass& pass, Drafting drafting,
                        int modules) {
    Violations violations;
    EXPECT_FALSE(pass.WithDrafting(drafting, modules, violations).has_value());
    return std::string(violations.ToStatus().message());
  };
  EXPECT_THAT(error(Verifying(1), {.draft_tokens = 65}, 1),
              HasSubstr("draft_token_count: is 65; allowed: 0 to 64"));
  EXPECT_THAT(error(Verifying(1), {.draft_tokens = -1}, 1),
              HasSubstr("draft_token_count: is -1"));
  EXPECT_THAT(error(Verifying(1), {.draft_tokens = 2}, 0),
              HasSubstr("draft_token_count: is 2; the model has no modules"));
  Violations violations;
  const ForwardPass prompts =
      *ForwardPass::Create({{Role::kPrefill, 1, 9, 0}}, 1000, violations);
  EXPECT_THAT(error(prompts, {.draft_tokens = 2}, 1),
              HasSubstr("no group of the pass decodes"));
  for (double rate : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(
        error(Verifying(2), {.draft_tokens = 1, .acceptance_rate = rate}, 1),
        HasSubstr("acceptance_rate: is"));
  }
  // Gained, but not verified.
  EXPECT_THAT(
      error(Verifying(1), {.draft_tokens = 2, .acceptance_rate = 0.5}, 1),
      HasSubstr("groups[1].new_token_count is 1; must be 1 + "
                "draft_token_count, 3"));
}

TEST(ForwardPass, TakesTheWholeContext) {
  Violations violations;
  EXPECT_TRUE(
      ForwardPass::Create({{Role::kDecode, 1, 1, 999}}, 1000, violations)
          .has_value());
}

// Every choice of `left` of the experts from `first` on.
std::vector<std::set<int>> Choices(int first, int experts, int left) {
  if (left == 0) return {{}};
  std::vector<std::set<int>> choices;
  for (int e = first; e < experts; ++e) {
    for (std::set<int> choice : Choices(e + 1, experts, left - 1)) {
      choice.insert(e);
      choices.push_back(std::move(choice));
    }
  }
  return choices;
}

// Sums the distinct experts of every assignment; counts the assignments.
void Enumerate(int64_t tokens, const std::vector<std::set<int>>& choices,
               const std::set<int>& touched, int64_t& sum, int64_t& count) {
  if (tokens == 0) {
    sum += static_cast<int64_t>(touched.size());
    ++count;
    return;
  }
  for (const std::set<int>& choice : choices) {
    std::set<int> more = touched;
    more.insert(choice.begin(), choice.end());
    Enumerate(tokens - 1, choices, more, sum, count);
  }
}

TEST(ExpertRouting, IndependentDrawsAreTheMeanOfAllAssignments) {
  struct Case {
    int experts, per_token;
    int64_t tokens, assignments;
  };
  const Case kCases[] = {
      {4, 2, 1, 6},    {4, 2, 2, 36},   {4, 2, 3, 216}, {4, 4, 2, 1},
      {5, 3, 3, 1000}, {6, 1, 4, 1296}, {3, 2, 5, 243}, {1, 1, 3, 1},
  };
  const ExpertRouting routing;  // Independent.
  for (const Case& c : kCases) {
    int64_t sum = 0, count = 0;
    Enumerate(c.tokens, Choices(0, c.experts, c.per_token), {}, sum, count);
    ASSERT_EQ(count, c.assignments);
    const double mean = static_cast<double>(sum) / static_cast<double>(count);
    EXPECT_NEAR(routing.DistinctExperts(c.tokens, c.per_token, c.experts), mean,
                1e-12 * mean)
        << c.per_token << " of " << c.experts << ", " << c.tokens << " tokens";
  }
}

TEST(ExpertRouting, DistinctExpertsOfPublishedShapes) {
  const ExpertRouting independent;
  // Mixtral, 16 tokens: 8 (1 - 0.75^16).
  EXPECT_NEAR(independent.DistinctExperts(16, 2, 8), 7.92, 0.005);
  EXPECT_EQ(independent.DistinctExperts(1, 2, 8), 2);
  // DeepSeek-V3: one token touches eight; 37 leave 31 % of the experts idle.
  EXPECT_EQ(independent.DistinctExperts(1, 8, 256), 8);
  EXPECT_NEAR(independent.DistinctExperts(37, 8, 256), 0.691 * 256, 0.1);
  EXPECT_EQ(independent.DistinctExperts(1'000'000, 8, 256), 256);
  const ExpertRouting spread{ExpertRouting::Kind::kSpread, {}};
  EXPECT_EQ(spread.DistinctExperts(1, 8, 256), 8);
  EXPECT_EQ(spread.DistinctExperts(31, 8, 256), 248);
  EXPECT_EQ(spread.DistinctExperts(33, 8, 256), 256);
  const ExpertRouting histogram{ExpertRouting::Kind::kHistogram,
                                {0.5, 0, 1e-9, 7, 0, 1}};
  EXPECT_EQ(histogram.DistinctExperts(100, 2, 6), 4);
  EXPECT_EQ(histogram.DistinctExperts(1, 2, 6), 2);
}

std::string RoutingErrorOf(ExpertRouting routing, int experts) {
  Violations violations;
  const auto pass =
      ForwardPass::Create({{Role::kDecode, 1, 1, 0}}, 10, violations);
  EXPECT_FALSE(
      pass->WithRouting(std::move(routing), experts, violations).has_value());
  return std::string(violations.ToStatus().message());
}

TEST(ForwardPass, TakesAHistogramOfTheModelsExperts) {
  const auto kHistogram = ExpertRouting::Kind::kHistogram;
  EXPECT_THAT(RoutingErrorOf({kHistogram, {1, 1}}, 4),
              HasSubstr("expert_shares: has 2 entries; the model has 4"));
  EXPECT_THAT(RoutingErrorOf({kHistogram, {0, 0}}, 2),
              HasSubstr("expert_shares: are all 0"));
  const std::string error =
      RoutingErrorOf({kHistogram, {-1, NAN, INFINITY, 1}}, 4);
  for (const char* want :
       {"expert_shares[0]: is -1", "expert_shares[1]: is nan",
        "expert_shares[2]: is inf"}) {
    EXPECT_THAT(error, HasSubstr(want));
  }
  Violations violations;
  const auto pass =
      ForwardPass::Create({{Role::kDecode, 3, 1, 0}}, 10, violations);
  EXPECT_EQ(pass->routing().kind, ExpertRouting::Kind::kIndependent);
  const auto routed =
      pass->WithRouting({kHistogram, {0, 3, 1, 0}}, 4, violations);
  ASSERT_TRUE(routed.has_value()) << violations.ToStatus();
  EXPECT_EQ(routed->routing().DistinctExperts(3, 1, 4), 2);
  EXPECT_EQ(routed->total_new_tokens(), 3);
}

TEST(ForwardPass, PartsAreTheLargest) {
  Violations violations;
  const ForwardPass pass = *ForwardPass::Create(
      {{Role::kDecode, 5, 1, 99}, {Role::kPrefill, 2, 64, 10}}, 1000,
      violations);
  const ForwardPass part = pass.LargestPart(4);
  EXPECT_EQ(part.groups()[0].request_count, 2);
  EXPECT_EQ(part.groups()[1].request_count, 1);
  EXPECT_EQ(part.total_new_tokens(), 2 + 64);
  // 2, 2, 1.
  EXPECT_EQ(pass.PartsNeeded(4), 3);
  EXPECT_EQ(pass.PartsNeeded(1), 1);
  EXPECT_EQ(pass.PartsNeeded(9), 5);
}

// The parts of a prompt have as many causal pairs as the whole.
TEST(ForwardPass, ContextPartsShareThePositions) {
  Violations violations;
  const ForwardPass pass = *ForwardPass::Create(
      {{Role::kPrefill, 3, 64, 10}, {Role::kDecode, 2, 3, 98}}, 1000,
      violations);
  const ForwardPass part = pass.ContextPart(4);
  EXPECT_EQ(part.groups()[0].new_tokens, 16);
  EXPECT_EQ(part.groups()[0].prior_tokens, 10 + (64 - 16) / 2);
  const auto pairs = [](const RequestGroup& g) {
    return g.new_tokens * g.prior_tokens +
           g.new_tokens * (g.new_tokens + 1) / 2;
  };
  EXPECT_EQ(4 * pairs(part.groups()[0]), pairs(pass.groups()[0]));
  // 101 positions: 26 at most, with all three new tokens.
  EXPECT_EQ(part.groups()[1].new_tokens, 3);
  EXPECT_EQ(part.groups()[1].context(), 26);
}

}  // namespace
}  // namespace mansard::model
