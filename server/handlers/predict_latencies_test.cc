// PredictLatencies over real gRPC, against estimates of the passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/handlers/scheduling.h"
#include "tests/support/scheduling_calls.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Response = v1::PredictLatenciesResponse;

// What comes on top of an engine's passes before the first token: 14 ms a
// request, 3 us a token, 20 us for each of 32 layers a pass, 0.1 ms for each
// request in flight.
double Around(int tokens, int passes, int requests) {
  return .014 + 3e-6 * tokens + 20e-6 * 32 * passes + 1e-4 * requests;
}

class PredictLatenciesTest : public SchedulingTest {
 protected:
  void SetUp() override {
    CreateEngine("chat", "limits { max_batched_token_count: 8192 }");
  }

  static v1::LatencyQuery Query(const std::string& text) {
    return Parse<v1::LatencyQuery>(
        absl::StrCat("engine: 'engines/chat' ", text));
  }
  Called<Response> Ask(const std::vector<v1::LatencyQuery>& queries) {
    v1::PredictLatenciesRequest request;
    for (const v1::LatencyQuery& query : queries) {
      *request.add_queries() = query;
    }
    return Call(&Stub::PredictLatencies, request);
  }
  v1::LatencyPrediction Predict(const std::string& text) {
    const auto called = Ask({Query(text)});
    EXPECT_TRUE(called.ok()) << called.facts();
    if (called.response.rows_size() != 1) return {};
    const Response::Row& row = called.response.rows(0);
    EXPECT_TRUE(row.has_prediction()) << row.ShortDebugString();
    return row.prediction();
  }
  ErrorFacts ErrorOf(const v1::LatencyQuery& query) {
    const auto called = Ask({query});
    EXPECT_TRUE(called.ok()) << called.facts();
    if (called.response.rows_size() != 1) return {};
    EXPECT_TRUE(called.response.rows(0).has_error());
    return FactsOf(called.response.rows(0).error());
  }
};

TEST_F(PredictLatenciesTest, OfAnIdleEndpointIsThePromptAlone) {
  const auto answer = Predict("input_token_count: 1000");
  const double prompt = Estimated("engines/chat", PromptGroup(1, 1000));
  const double decode = Estimated("engines/chat", DecodeGroup(1, 1000));
  EXPECT_NEAR(answer.time_to_first_token().seconds() - Around(1000, 1, 1),
              prompt, kCurveTolerance * prompt);
  EXPECT_NEAR(answer.inter_token_latency().seconds() / decode, 1,
              kCurveTolerance);
  EXPECT_NEAR(answer.time_per_output_token().seconds() / decode, 1,
              kCurveTolerance);
  EXPECT_LE(answer.inter_token_latency().p10_seconds(),
            answer.inter_token_latency().seconds());
  EXPECT_GE(answer.inter_token_latency().p90_seconds(),
            answer.inter_token_latency().seconds());
  EXPECT_TRUE(answer.meets_slo());
  EXPECT_FALSE(answer.has_slo_headroom_seconds());
  EXPECT_FALSE(answer.waits_for_room());
  EXPECT_FALSE(answer.has_end_to_end_latency());
  EXPECT_EQ(answer.bound(), v1::BOUND_MEMORY);
}

// 10,000 tokens ahead and 4,000 of 5,000 that are not cached: passes of 8,192
// and 5,808 tokens, beside 30 decodes.
TEST_F(PredictLatenciesTest, FollowsWhatTheEngineReports) {
  const auto answer = Predict(
      "state { running_request_count: 30 waiting_request_count: 4 "
      "prefill_tokens_in_flight_count: 10000 "
      "decode_tokens_in_flight_count: 90000 } "
      "input_token_count: 5000 prefix_cache_hit_ratio: 0.2");
  const std::string decodes = DecodeGroup(30, 3000);
  const std::vector<double> passes =
      Estimated("engines/chat", {PromptGroup(1, 8192) + decodes,
                                 PromptGroup(1, 5808) + decodes, decodes});
  // 1.5 times half a pass and two, of which the two are there already.
  const double expected =
      passes[0] + passes[1] + (1.5 * 2.5 - 2) * passes[2] + Around(5000, 2, 35);
  EXPECT_NEAR(answer.time_to_first_token().seconds() / expected, 1,
              kCurveTolerance);
  // (30 x 3000 + 5 x 5000) / 35 tokens each.
  const double decode = Estimated("engines/chat", DecodeGroup(35, 3286));
  EXPECT_NEAR(answer.inter_token_latency().seconds() / decode, 1,
              kCurveTolerance);
}

TEST_F(PredictLatenciesTest, TheTightestTargetCounts) {
  const std::string question =
      "input_token_count: 1000 output_token_count: 101 ";
  const auto plain = Predict(question);
  EXPECT_NEAR(plain.end_to_end_latency().seconds(),
              plain.time_to_first_token().seconds() +
                  100 * plain.time_per_output_token().seconds(),
              1e-9);
  const double first = plain.time_to_first_token().seconds();
  const double token = plain.time_per_output_token().seconds();
  auto answer = Predict(
      absl::StrCat(question, "slo { time_to_first_token_seconds: ", 2 * first,
                   " time_per_output_token_seconds: ", 1.5 * token, " }"));
  EXPECT_TRUE(answer.meets_slo());
  EXPECT_NEAR(answer.slo_headroom_seconds(), .5 * token, 1e-7);
  answer = Predict(
      absl::StrCat(question, "slo { time_to_first_token_seconds: ", .5 * first,
                   " time_per_output_token_seconds: ", 1.5 * token, " }"));
  EXPECT_FALSE(answer.meets_slo());
  EXPECT_NEAR(answer.slo_headroom_seconds(), -.5 * first, 1e-7);
}

TEST_F(PredictLatenciesTest, SpeculationGainsTokens) {
  const auto answer = Predict(
      "input_token_count: 1000 accepted_tokens_per_pass_count: 2 "
      "draft_token_count: 3");
  const double pass = Estimated("engines/chat", DecodeGroup(1, 1000, 4));
  EXPECT_NEAR(answer.inter_token_latency().seconds() / pass, 1,
              kCurveTolerance);
  EXPECT_NEAR(answer.time_per_output_token().seconds(),
              answer.inter_token_latency().seconds() / 2, 1e-12);
}

TEST_F(PredictLatenciesTest, OneThatRunsHasItsFirstToken) {
  const auto answer = Predict(
      "state { running_request_count: 4 decode_tokens_in_flight_count: 4000 } "
      "input_token_count: 1000 generated_token_count: 5");
  EXPECT_FALSE(answer.has_time_to_first_token());
  const double pass = Estimated("engines/chat", DecodeGroup(4, 1000));
  EXPECT_NEAR(answer.inter_token_latency().seconds() / pass, 1,
              kCurveTolerance);
}

TEST_F(PredictLatenciesTest, AFullEngineMakesItWait) {
  EXPECT_TRUE(Predict("state { running_request_count: 8 "
                      "kv_cache_usage_ratio: 1 } input_token_count: 1000")
                  .waits_for_room());
  CreateEngine("four", "limits { max_sequence_count: 4 }");
  const std::string four = "engine: 'engines/four' input_token_count: 100 ";
  EXPECT_TRUE(
      Predict(four + "state { running_request_count: 4 }").waits_for_room());
  EXPECT_FALSE(
      Predict(four + "state { running_request_count: 3 }").waits_for_room());
}

TEST_F(PredictLatenciesTest, RolesHaveTheirTimesAlone) {
  CreateEngine("prompts", "role: ROLE_PREFILL");
  CreateEngine("decodes", "role: ROLE_DECODE");
  auto answer = Predict("engine: 'engines/prompts' input_token_count: 1000");
  EXPECT_TRUE(answer.has_time_to_first_token());
  EXPECT_FALSE(answer.has_time_per_output_token());
  answer = Predict("engine: 'engines/decodes' input_token_count: 1000");
  EXPECT_FALSE(answer.has_time_to_first_token());
  EXPECT_TRUE(answer.has_time_per_output_token());
  const ErrorFacts facts =
      ErrorOf(Query("engine: 'engines/decodes' input_token_count: 1000 "
                    "slo { time_to_first_token_seconds: 1 }"));
  EXPECT_THAT(facts.Fields(), ElementsAre("slo.time_to_first_token_seconds"));
  EXPECT_THAT(facts.message, HasSubstr("decodes only"));
}

TEST_F(PredictLatenciesTest, RowsFailAlone) {
  const v1::LatencyQuery good = Query("input_token_count: 1000");
  const v1::LatencyQuery other = Query("input_token_count: 7000");
  const auto alone = Ask({good});
  const auto called =
      Ask({good, Query("engine: 'engines/cat' input_token_count: 1"),
           Query("state { running_request_count: -1 kv_cache_usage_ratio: 1.5 "
                 "} input_token_count: 0 prefix_cache_hit_ratio: -1 "
                 "accepted_tokens_per_pass_count: 0.5 "
                 "slo { time_per_output_token_seconds: -1 "
                 "end_to_end_latency_seconds: 1 }"),
           v1::LatencyQuery(), other});
  ASSERT_TRUE(called.ok()) << called.facts();
  ASSERT_EQ(called.response.rows_size(), 5);
  EXPECT_EQ(called.response.rows(0).SerializeAsString(),
            alone.response.rows(0).SerializeAsString());
  EXPECT_EQ(called.response.rows(4).SerializeAsString(),
            Ask({other}).response.rows(0).SerializeAsString());
  EXPECT_GT(
      called.response.rows(4).prediction().time_to_first_token().seconds(),
      called.response.rows(0).prediction().time_to_first_token().seconds());

  ErrorFacts facts = FactsOf(called.response.rows(1).error());
  EXPECT_EQ(facts.code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(facts.reason, "ENGINE_NOT_FOUND") << facts;
  EXPECT_THAT(facts.message, HasSubstr("did you mean \"chat\"?"));
  facts = FactsOf(called.response.rows(2).error());
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(
      facts.Fields(),
      ElementsAre("accepted_tokens_per_pass_count", "input_token_count",
                  "prefix_cache_hit_ratio", "slo.end_to_end_latency_seconds",
                  "slo.time_per_output_token_seconds",
                  "state.kv_cache_usage_ratio", "state.running_request_count"));
  facts = FactsOf(called.response.rows(3).error());
  EXPECT_THAT(facts.Fields(), ElementsAre("engine", "input_token_count"))
      << facts;
}

TEST_F(PredictLatenciesTest, TakesOneTo512Rows) {
  const v1::LatencyQuery good = Query("input_token_count: 1000");
  for (const size_t rows : {size_t{0}, size_t{513}}) {
    const ErrorFacts facts =
        Ask(std::vector<v1::LatencyQuery>(rows, good)).facts();
    EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(facts.Fields(), ElementsAre("queries"));
    EXPECT_THAT(facts.message, HasSubstr(absl::StrCat("has ", rows)));
  }
  const auto called = Ask(std::vector<v1::LatencyQuery>(512, good));
  ASSERT_TRUE(called.ok()) << called.facts();
  ASSERT_EQ(called.response.rows_size(), 512);
  for (const Response::Row& row : called.response.rows()) {
    EXPECT_EQ(
        row.prediction().time_to_first_token().seconds(),
        called.response.rows(0).prediction().time_to_first_token().seconds());
  }
}

}  // namespace
}  // namespace mansard::testing
