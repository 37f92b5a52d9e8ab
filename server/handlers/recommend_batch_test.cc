// RecommendBatchSize over real gRPC, against estimates of every batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/scheduling_calls.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kSequences = 64;

class RecommendBatchTest : public SchedulingTest {
 protected:
  void SetUp() override {
    CreateEngine(
        "chat",
        absl::StrCat("limits { max_sequence_count: ", kSequences, " }"));
  }

  Called<v1::RecommendBatchSizeResponse> Ask(const std::string& text) {
    return Call(&Stub::RecommendBatchSize,
                Parse<v1::RecommendBatchSizeRequest>(
                    absl::StrCat("engine: 'engines/chat' ", text)));
  }
  v1::RecommendBatchSizeResponse Answer(const std::string& text) {
    const auto called = Ask(text);
    EXPECT_TRUE(called.ok()) << called.facts() << "\n" << text;
    return called.response;
  }
  // Of 1 to kSequences sequences.
  std::vector<double> EstimatedBatches(int64_t context) {
    std::vector<std::string> passes;
    for (int batch = 1; batch <= kSequences; ++batch) {
      passes.push_back(DecodeGroup(batch, context));
    }
    return Estimated("engines/chat", passes);
  }
};

TEST_F(RecommendBatchTest, IsTheLargestWhoseEstimatesHold) {
  const std::vector<double> seconds = EstimatedBatches(2000);
  for (const size_t wanted : {1, 2, 7, 31, 63}) {
    // Half way to the next one, which is some 0.5 % more.
    const double target = (seconds[wanted - 1] + seconds[wanted]) / 2;
    size_t holding = 0;
    while (holding < seconds.size() && seconds[holding] <= target) ++holding;
    ASSERT_EQ(holding, wanted) << "times do not grow with the batch";
    const auto answer =
        Answer(absl::StrFormat("context_token_count: 2000 slo { "
                               "inter_token_latency_seconds: %.17g }",
                               target));
    EXPECT_EQ(answer.max_batch_request_count(), static_cast<int>(wanted));
    EXPECT_EQ(answer.limit(), v1::BATCH_LIMIT_SLO);
    EXPECT_THAT(answer.reason(),
                HasSubstr(absl::StrCat(
                    wanted + 1, " would break inter_token_latency_seconds")));
    const double step = answer.step_time().seconds();
    EXPECT_NEAR(step / seconds[wanted - 1], 1, kCurveTolerance);
    EXPECT_LE(answer.step_time().p10_seconds(), step);
    EXPECT_GE(answer.step_time().p90_seconds(), step);
    EXPECT_NEAR(answer.slo_headroom_seconds(), target - step, 1e-9);
    EXPECT_NEAR(answer.output_tokens_per_second() * step,
                static_cast<double>(wanted), 1e-6);
    EXPECT_EQ(answer.tokens_per_pass_count(), 1);
    EXPECT_EQ(answer.bound(), v1::BOUND_MEMORY);
    EXPECT_FALSE(answer.has_time_to_first_token_seconds());
    EXPECT_THAT(answer.resolution().engine_revision(),
                HasSubstr("engines/chat@"));
  }
}

struct LimitCase {
  const char* question;
  int batch;
  v1::BatchLimit limit;
  const char* reason;
};

TEST_F(RecommendBatchTest, SaysWhatTheNextOneWouldBreak) {
  // Blocks of 16 tokens: 1000 tokens take 63 of them, 1008 tokens.
  const LimitCase kCases[] = {
      {"context_token_count: 1000", 64, v1::BATCH_LIMIT_ENGINE,
       "the engine runs 64 sequences"},
      {"context_token_count: 1000 kv_token_budget_count: 20160", 20,
       v1::BATCH_LIMIT_KV_BUDGET, "21 have no room in 20160 tokens"},
      {"context_token_count: 1000 kv_token_budget_count: 20159", 19,
       v1::BATCH_LIMIT_KV_BUDGET, "20 have no room in 20159 tokens"},
      // Some 400,000 tokens at 131,072 B each.
      {"context_token_count: 120000", 3, v1::BATCH_LIMIT_KV_BUDGET,
       "4 have no room in the cache, "},
      {"context_token_count: 1000 kv_token_budget_count: 1007", 0,
       v1::BATCH_LIMIT_KV_BUDGET, "1 have no room in 1007 tokens"},
      {"context_token_count: 1000 kv_token_budget_count: 0", 0,
       v1::BATCH_LIMIT_KV_BUDGET, "1 have no room in 0 tokens"},
      {"context_token_count: 1000 slo { inter_token_latency_seconds: 1e-6 }", 0,
       v1::BATCH_LIMIT_SLO,
       "1 would break inter_token_latency_seconds of 1e-06 s"},
  };
  for (const LimitCase& one : kCases) {
    const auto answer = Answer(one.question);
    EXPECT_EQ(answer.max_batch_request_count(), one.batch) << one.question;
    EXPECT_EQ(answer.limit(), one.limit) << one.question;
    EXPECT_THAT(answer.reason(), HasSubstr(one.reason));
  }
}

TEST_F(RecommendBatchTest, WhereNothingHoldsTheTimesAreOfOneSequence) {
  const auto answer = Answer(
      "context_token_count: 1000 slo { inter_token_latency_seconds: 1e-6 }");
  const double alone = Estimated("engines/chat", DecodeGroup(1, 1000));
  EXPECT_NEAR(answer.step_time().seconds() / alone, 1, kCurveTolerance);
  EXPECT_NEAR(answer.slo_headroom_seconds(),
              1e-6 - answer.step_time().seconds(), 1e-12);
}

TEST_F(RecommendBatchTest, AModelThatDoesNotFitHasNoBatch) {
  CreateEngine("large", "target { model_graph: 'modelGraphs/llama-3.1-70b' }");
  const auto answer = Answer("engine: 'engines/large' context_token_count: 10");
  EXPECT_EQ(answer.max_batch_request_count(), 0);
  EXPECT_EQ(answer.limit(), v1::BATCH_LIMIT_KV_BUDGET);
  EXPECT_THAT(answer.reason(), HasSubstr("no room in the cache, 0 tokens"));
}

TEST_F(RecommendBatchTest, PassesAreThoseThatWereAskedAbout) {
  struct Case {
    const char* question;
    std::string pass;
    double tokens;
  };
  const Case kCases[] = {
      // Chunks of prompts ride along.
      {"context_token_count: 1000 prefill_token_count: 512",
       PromptGroup(1, 512) + DecodeGroup(64, 1000), 1},
      // 1 + 1/2 + 1/4 for two drafts.
      {"context_token_count: 1000 draft_token_count: 2 acceptance_rate: 0.5",
       DecodeGroup(64, 1000, 3), 1.75},
      {"context_token_count: 1000 draft_token_count: 2",
       DecodeGroup(64, 1000, 3), 1},
      // 3 to 1 in any unit.
      {"contexts { context_token_count: 500 weight: 0.3 } "
       "contexts { context_token_count: 4500 weight: 0.1 }",
       DecodeGroup(48, 500) + DecodeGroup(16, 4500), 1},
  };
  for (const Case& one : kCases) {
    const auto answer = Answer(one.question);
    ASSERT_EQ(answer.max_batch_request_count(), 64) << one.question;
    const double step = answer.step_time().seconds();
    EXPECT_NEAR(step / Estimated("engines/chat", one.pass), 1, kCurveTolerance)
        << one.question;
    EXPECT_NEAR(answer.tokens_per_pass_count(), one.tokens, 1e-12);
    EXPECT_NEAR(answer.output_tokens_per_second() * step, 64 * one.tokens,
                1e-6);
  }
}

// Without targets a budget of n sequences is how the times of n are asked for:
// what holds targets is then the largest before the first that breaks one.
TEST_F(RecommendBatchTest, TargetsOfServedRequestsHoldUpToIt) {
  const std::string question =
      "context_token_count: 1500 shape { input_token_count: 1000 "
      "output_token_count: 1000 } ";
  std::vector<v1::RecommendBatchSizeResponse> batches;
  for (int batch = 1; batch <= kSequences; ++batch) {
    batches.push_back(Answer(
        absl::StrCat(question, "kv_token_budget_count: ", batch * 1504)));
    const auto& one = batches.back();
    ASSERT_EQ(one.max_batch_request_count(), batch);
    EXPECT_NEAR(one.end_to_end_latency_seconds(),
                one.time_to_first_token_seconds() +
                    999 * one.time_per_output_token_seconds(),
                1e-9);
  }
  const auto& wanted = batches[29];
  struct Target {
    const char* field;
    double seconds;
  };
  const double kSlack = 1 + 1e-6;
  for (const Target& target :
       {Target{"time_to_first_token_seconds",
               wanted.time_to_first_token_seconds() * kSlack},
        Target{"time_per_output_token_seconds",
               wanted.time_per_output_token_seconds() * kSlack},
        Target{"end_to_end_latency_seconds",
               wanted.end_to_end_latency_seconds() * kSlack}}) {
    const auto answer = Answer(absl::StrCat(question, "slo { ", target.field,
                                            ": ", target.seconds, " }"));
    EXPECT_EQ(answer.max_batch_request_count(), 30) << target.field;
    EXPECT_EQ(answer.limit(), v1::BATCH_LIMIT_SLO);
    EXPECT_THAT(answer.reason(),
                HasSubstr(absl::StrCat("31 would break ", target.field)));
  }
}

TEST_F(RecommendBatchTest, MistakesAreNamedAllAtOnce) {
  const std::string mistakes =
      "context_token_count: 7 contexts { context_token_count: 0 weight: 1 } "
      "contexts { context_token_count: 10 weight: 0 } "
      "kv_token_budget_count: -1 prefill_token_count: -1 "
      "draft_token_count: -1 acceptance_rate: 2 "
      "slo { inter_token_latency_seconds: -1 end_to_end_latency_seconds: inf } "
      "shape { output_token_count: 1 } ";
  const std::vector<std::string> fields = {"acceptance_rate",
                                           "context_token_count",
                                           "contexts[0].context_token_count",
                                           "contexts[1].weight",
                                           "draft_token_count",
                                           "kv_token_budget_count",
                                           "prefill_token_count",
                                           "shape.input_token_count",
                                           "slo.end_to_end_latency_seconds",
                                           "slo.inter_token_latency_seconds"};
  for (const char* engine : {"engines/chat", "engines/cat"}) {
    const ErrorFacts facts =
        Ask(absl::StrCat(mistakes, "engine: '", engine, "'")).facts();
    EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(facts.reason, "INVALID_REQUEST");
    EXPECT_EQ(facts.Fields(), fields) << facts;
  }
}

TEST_F(RecommendBatchTest, RefusesWhatItHasNoTimesFor) {
  CreateEngine("prompts", "role: ROLE_PREFILL");
  CreateEngine("decodes", "role: ROLE_DECODE");
  struct Case {
    const char* question;
    const char* field;
    const char* message;
  };
  const Case kCases[] = {
      {"slo { time_to_first_token_seconds: 1 }",
       "slo.time_to_first_token_seconds", "without the shape"},
      {"engine: 'engines/decodes' slo { end_to_end_latency_seconds: 1 } shape "
       "{ input_token_count: 1 output_token_count: 1 }",
       "slo.end_to_end_latency_seconds", "decodes only"},
      {"engine: 'engines/prompts'", "engine", "prompts only"},
      {"context_token_count: 131073", "context_token_count", "131072"},
      {"prefill_token_count: 1000000", "prefill_token_count", "allowed: 0 to"},
      {"acceptance_rate: 0.5", "acceptance_rate", "nothing is drafted"},
      {"engine: ''", "engine", "is required"},
      {"engine: 'chat'", "engine", "engines/{id}"},
  };
  for (const Case& one : kCases) {
    const ErrorFacts facts =
        Ask(absl::StrCat("context_token_count: 100 ", one.question)).facts();
    EXPECT_THAT(facts.Fields(), ElementsAre(one.field)) << one.question;
    EXPECT_THAT(facts.message, HasSubstr(one.message)) << facts;
  }
}

}  // namespace
}  // namespace mansard::testing
