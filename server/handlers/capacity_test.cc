// FindEngineCapacity and FitLatencyModel over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/scheduling_calls.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Capacity = v1::FindEngineCapacityResponse;

constexpr char kShape[] =
    "shape { input_token_count: 1000 output_token_count: 1000 } ";

class CapacityTest : public SchedulingTest {
 protected:
  void SetUp() override {
    CreateEngine("chat", "limits { max_sequence_count: 64 }");
  }

  Called<Capacity> Ask(const std::string& text) {
    return Call(&Stub::FindEngineCapacity,
                Parse<v1::FindEngineCapacityRequest>(
                    absl::StrCat("engine: 'engines/chat' ", kShape, text)));
  }
  Capacity Find(const std::string& text = "") {
    const auto called = Ask(text);
    EXPECT_TRUE(called.ok()) << called.facts();
    return called.response;
  }
  // As many such requests in flight, by RecommendBatchSize on a budget that
  // lets no more run.
  v1::RecommendBatchSizeResponse Served(int batch) {
    const auto called =
        Call(&Stub::RecommendBatchSize,
             Parse<v1::RecommendBatchSizeRequest>(absl::StrCat(
                 "engine: 'engines/chat' context_token_count: 1500 ", kShape,
                 "kv_token_budget_count: ", batch * 1504)));
    EXPECT_TRUE(called.ok()) << called.facts();
    EXPECT_EQ(called.response.max_batch_request_count(), batch);
    return called.response;
  }
};

// Requests per second are requests in flight by how long each stays.
TEST_F(CapacityTest, IsTheBestOfTheBatchesThatHold) {
  std::vector<v1::RecommendBatchSizeResponse> batches;
  for (int batch = 1; batch <= 64; ++batch) batches.push_back(Served(batch));
  const auto rate = [&](int batch) {
    return batch /
           batches[static_cast<size_t>(batch) - 1].end_to_end_latency_seconds();
  };
  struct Case {
    std::string slo;
    int most;
    const char* broken;
  };
  const double slack = 1 + 1e-6;
  const Case kCases[] = {
      {"", 64, ""},
      {absl::StrCat("slo { time_per_output_token_seconds: ",
                    batches[19].time_per_output_token_seconds() * slack, " }"),
       20, "time_per_output_token_seconds"},
      {absl::StrCat("slo { time_to_first_token_seconds: ",
                    batches[39].time_to_first_token_seconds() * slack, " }"),
       40, "time_to_first_token_seconds"},
  };
  for (const Case& one : kCases) {
    int best = 1;
    for (int batch = 2; batch <= one.most; ++batch) {
      if (rate(batch) > rate(best)) best = batch;
    }
    const Capacity answer = Find(one.slo);
    EXPECT_EQ(answer.batch_request_count(), best) << one.slo;
    EXPECT_NEAR(answer.requests_per_second() / rate(best), 1, 1e-9);
    EXPECT_NEAR(answer.output_tokens_per_second(),
                1000 * answer.requests_per_second(), 1e-6);
    EXPECT_TRUE(answer.meets_slo());
    EXPECT_EQ(answer.broken_target(), one.broken);
    EXPECT_EQ(answer.limit(),
              best == 64 ? v1::BATCH_LIMIT_ENGINE : v1::BATCH_LIMIT_SLO);
    const auto& same = batches[static_cast<size_t>(best) - 1];
    EXPECT_NEAR(answer.time_to_first_token_seconds(),
                same.time_to_first_token_seconds(), 1e-9);
    EXPECT_NEAR(answer.time_per_output_token_seconds(),
                same.time_per_output_token_seconds(), 1e-12);
    EXPECT_NEAR(answer.end_to_end_latency_seconds(),
                same.end_to_end_latency_seconds(), 1e-9);
    EXPECT_NEAR(answer.inter_token_latency_seconds(),
                same.step_time().seconds(), 1e-12);
    EXPECT_GT(answer.utilization_ratio(), .5);
    EXPECT_LE(answer.utilization_ratio(), 1);
    EXPECT_THAT(answer.resolution().engine_revision(),
                HasSubstr("engines/chat@"));
  }
}

TEST_F(CapacityTest, TargetsThatNothingHoldsAreSaid) {
  const Capacity without = Find();
  const Capacity answer = Find("slo { end_to_end_latency_seconds: 1e-3 }");
  EXPECT_FALSE(answer.meets_slo());
  EXPECT_EQ(answer.limit(), v1::BATCH_LIMIT_SLO);
  EXPECT_EQ(answer.broken_target(), "end_to_end_latency_seconds");
  EXPECT_EQ(answer.requests_per_second(), without.requests_per_second());
}

TEST_F(CapacityTest, TheLeastLatencyIsOfOneRequest) {
  const Capacity answer = Find("objective: OBJECTIVE_LATENCY");
  EXPECT_EQ(answer.batch_request_count(), 1);
  EXPECT_NEAR(answer.end_to_end_latency_seconds(),
              Served(1).end_to_end_latency_seconds(), 1e-9);
}

TEST_F(CapacityTest, CachedPrefixesAndAcceptedDraftsServeMore) {
  const double plain = Find().requests_per_second();
  const Capacity cached = Find("shape { prefix_cache_hit_ratio: 0.9 }");
  EXPECT_GT(cached.requests_per_second(), plain * 1.01);
  // Half of the passes, each of three tokens a sequence: memory-bound.
  const Capacity drafted =
      Find("accepted_tokens_per_pass_count: 2 draft_token_count: 2");
  EXPECT_GT(drafted.requests_per_second(), plain * 1.3);
  EXPECT_LT(drafted.requests_per_second(), plain * 2);
  EXPECT_NEAR(
      drafted.inter_token_latency_seconds() /
          Estimated("engines/chat",
                    DecodeGroup(drafted.batch_request_count(), 1500, 3)),
      1, kCurveTolerance);
}

TEST_F(CapacityTest, AModelThatDoesNotFitServesNothing) {
  CreateEngine("large", "target { model_graph: 'modelGraphs/llama-3.1-70b' }");
  const Capacity answer = Find("engine: 'engines/large'");
  EXPECT_EQ(answer.batch_request_count(), 0);
  EXPECT_EQ(answer.requests_per_second(), 0);
  EXPECT_FALSE(answer.meets_slo());
  EXPECT_EQ(answer.limit(), v1::BATCH_LIMIT_KV_BUDGET);
}

TEST_F(CapacityTest, MistakesAreNamedAllAtOnce) {
  const std::string mistakes =
      "shape { input_token_count: 0 output_token_count: -1 "
      "prefix_cache_hit_ratio: 2 } slo { time_to_first_token_seconds: 0 "
      "end_to_end_latency_seconds: nan } accepted_tokens_per_pass_count: 9 "
      "draft_token_count: 2 ";
  const std::vector<std::string> fields = {
      "accepted_tokens_per_pass_count", "shape.input_token_count",
      "shape.output_token_count",       "shape.prefix_cache_hit_ratio",
      "slo.end_to_end_latency_seconds", "slo.time_to_first_token_seconds"};
  for (const char* engine : {"engines/chat", "engines/cat"}) {
    const ErrorFacts facts =
        Ask(absl::StrCat(mistakes, "engine: '", engine, "'")).facts();
    EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
    EXPECT_EQ(facts.Fields(), fields) << facts;
  }
  v1::FindEngineCapacityRequest newer;
  newer.set_objective(
      static_cast<v1::FindEngineCapacityRequest::Objective>(77));
  EXPECT_THAT(Call(&Stub::FindEngineCapacity, newer).facts().Fields(),
              ElementsAre("engine", "objective", "shape.input_token_count",
                          "shape.output_token_count"));
  // The model's longest context is the engine's to say.
  EXPECT_THAT(Ask("shape { input_token_count: 131073 }").facts().Fields(),
              ElementsAre("shape.output_token_count"));
  EXPECT_EQ(Ask("engine: 'engines/cat'").facts().reason, "ENGINE_NOT_FOUND");
}

class LatencyModelTest : public SchedulingTest {
 protected:
  void SetUp() override {
    CreateEngine("chat",
                 "limits { max_sequence_count: 32 "
                 "max_batched_token_count: 16384 }");
  }

  Called<v1::FitLatencyModelResponse> Ask(const std::string& text) {
    return Call(&Stub::FitLatencyModel,
                Parse<v1::FitLatencyModelRequest>(
                    absl::StrCat("engine: 'engines/chat' ", kShape, text)));
  }
  v1::FitLatencyModelResponse Fit(const std::string& text) {
    const auto called = Ask(text);
    EXPECT_TRUE(called.ok()) << called.facts();
    return called.response;
  }
};

double WorstError(const std::vector<double>& seconds, double constant,
                  double slope) {
  double worst = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double line = constant + slope * static_cast<double>(i + 1);
    worst = std::max(worst, std::abs(line / seconds[i] - 1));
  }
  return worst;
}

TEST_F(LatencyModelTest, ErrorsAreThoseOfEveryBatch) {
  const auto fitted = Fit("max_batch_request_count: 16");
  EXPECT_EQ(fitted.max_batch_request_count(), 16);
  std::vector<std::string> passes;
  for (int batch = 1; batch <= 16; ++batch) {
    passes.push_back(DecodeGroup(batch, 1500));
  }
  for (int batch = 1; batch <= 16; ++batch) {
    passes.push_back(PromptGroup(batch, 1000));
  }
  const std::vector<double> seconds = Estimated("engines/chat", passes);
  const std::vector<double> decodes(seconds.begin(), seconds.begin() + 16);
  const std::vector<double> prompts(seconds.begin() + 16, seconds.end());
  EXPECT_NEAR(
      fitted.max_decode_error_ratio(),
      WorstError(decodes, fitted.alpha_seconds(), fitted.beta_seconds()),
      kCurveTolerance);
  EXPECT_NEAR(fitted.max_prefill_error_ratio(),
              WorstError(prompts, fitted.gamma_seconds(),
                         1000 * fitted.delta_seconds()),
              kCurveTolerance);
  EXPECT_LT(fitted.max_decode_error_ratio(), .05);
  // Close to the line through the ends.
  EXPECT_NEAR(fitted.beta_seconds() / ((decodes[15] - decodes[0]) / 15), 1, .2);
  EXPECT_NEAR(fitted.delta_seconds() / ((prompts[15] - prompts[0]) / 15 / 1000),
              1, .2);
}

TEST_F(LatencyModelTest, RolesHaveTheirLineAlone) {
  CreateEngine("prompts", "role: ROLE_PREFILL");
  CreateEngine("decodes", "role: ROLE_DECODE");
  auto fitted = Fit("engine: 'engines/prompts' max_batch_request_count: 8");
  EXPECT_FALSE(fitted.has_alpha_seconds());
  EXPECT_TRUE(fitted.has_gamma_seconds());
  fitted = Fit("engine: 'engines/decodes' max_batch_request_count: 8");
  EXPECT_TRUE(fitted.has_beta_seconds());
  EXPECT_FALSE(fitted.has_delta_seconds());
  EXPECT_EQ(Fit("").max_batch_request_count(), 32);
}

TEST_F(LatencyModelTest, MistakesAreNamedAllAtOnce) {
  for (const char* engine : {"engines/chat", "engines/cat"}) {
    const ErrorFacts facts =
        Ask(absl::StrCat("engine: '", engine,
                         "' shape { input_token_count: -1 } "
                         "max_batch_request_count: -1"))
            .facts();
    EXPECT_THAT(facts.Fields(), ElementsAre("max_batch_request_count",
                                            "shape.input_token_count"))
        << facts;
  }
  const ErrorFacts facts = Ask("max_batch_request_count: 33").facts();
  EXPECT_THAT(facts.Fields(), ElementsAre("max_batch_request_count"));
  EXPECT_THAT(facts.message, HasSubstr("allowed: 1 to 32"));
}

}  // namespace
}  // namespace mansard::testing
