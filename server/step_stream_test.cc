// StreamPredictions over real gRPC: answers, and ends of every kind.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/step_streams.h"

namespace mansard::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Request = v1::StreamPredictionsRequest;
using Response = v1::StreamPredictionsResponse;

TEST_F(StepStreamTest, AnswersAsUnaryCallsDo) {
  CreateEngine("small", "target { model_graph: 'modelGraphs/qwen3-0.6b' }");
  StepStream stream(*stub_);
  const std::vector<std::string> passes = {
      DecodeGroup(1, 100), DecodeGroup(64, 4096),
      PromptGroup(2, 512) + DecodeGroup(8, 2000),
      DecodeGroup(3, 70) + DecodeGroup(9, 900) + PromptGroup(1, 33, 5)};
  for (const char* engine : {"engines/chat", "engines/small"}) {
    const std::vector<double> expected = Estimated(engine, passes);
    for (size_t i = 0; i < passes.size(); ++i) {
      // The engine is said once.
      const Response answer = stream.Ask(
          absl::StrCat(i == 0 ? absl::StrCat("engine: '", engine, "' ") : "",
                       Pass(passes[i]), "correlation_id: ", 7 * i + 1));
      ASSERT_TRUE(answer.has_step()) << answer.ShortDebugString();
      EXPECT_EQ(answer.correlation_id(), static_cast<int64_t>(7 * i + 1));
      const v1::TimePrediction& time = answer.step().step_time();
      EXPECT_NEAR(time.seconds() / expected[i], 1, kCurveTolerance);
      EXPECT_LE(time.p10_seconds(), time.seconds());
      EXPECT_GE(time.p90_seconds(), time.seconds());
      EXPECT_NE(answer.step().bound(), v1::BOUND_UNSPECIFIED);
    }
  }
  v1::PredictStepsRequest columns;
  columns.set_engine("engines/small");
  columns.add_decode_request_counts(64);
  columns.add_decode_context_token_counts(4096);
  EXPECT_EQ(stream.Ask(Pass(passes[1])).step().step_time().seconds(),
            Call(&Stub::PredictSteps, columns).response.step_seconds(0));
  EXPECT_TRUE(stream.Close().ok());
}

TEST_F(StepStreamTest, MistakesDoNotEndIt) {
  StepStream stream(*stub_);
  const std::string pass = Pass(DecodeGroup(1, 100));
  ErrorFacts facts = FactsOf(stream.Ask(pass + "correlation_id: 5").error());
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(facts.Fields(), ElementsAre("engine"));
  const Response absent = stream.Ask("engine: 'engines/cat' " + pass);
  facts = FactsOf(absent.error());
  EXPECT_EQ(facts.reason, "ENGINE_NOT_FOUND") << facts;
  const Response broken = stream.Ask(
      "engine: 'engines/chat' correlation_id: 9 forward_pass { groups { "
      "request_count: -1 } groups { role: ROLE_DECODE request_count: 1 "
      "new_token_count: 1 prior_token_count: -1 } }");
  EXPECT_EQ(broken.correlation_id(), 9);
  facts = FactsOf(broken.error());
  EXPECT_THAT(facts.Fields(),
              ElementsAre("forward_pass.groups[0].new_token_count",
                          "forward_pass.groups[0].request_count",
                          "forward_pass.groups[0].role",
                          "forward_pass.groups[1].prior_token_count"))
      << facts;
  EXPECT_TRUE(stream.Ask(pass).has_step());
  EXPECT_TRUE(stream.Close().ok());
}

TEST_F(StepStreamTest, FollowsTheCatalog) {
  StepStream stream(*stub_);
  const std::string pass = Pass(DecodeGroup(1, 100));
  const double before =
      stream.Ask("engine: 'engines/chat' " + pass).step().step_time().seconds();
  DeleteEngine("chat");
  EXPECT_EQ(FactsOf(stream.Ask(pass).error()).reason, "ENGINE_NOT_FOUND");
  CreateEngine("chat", "target { parallelism { tensor_size: 2 } }");
  const Response after = stream.Ask(pass);
  ASSERT_TRUE(after.has_step()) << after.ShortDebugString();
  EXPECT_LT(after.step().step_time().seconds(), .8 * before);
}

TEST_F(StepStreamTest, DrainEndsOpenStreams) {
  StepStream idle(*stub_);
  StepStream used(*stub_);
  EXPECT_TRUE(
      used.Ask("engine: 'engines/chat' " + Pass(DecodeGroup(1, 9))).has_step());
  ASSERT_TRUE(Await("mansard_rpcs_in_flight{class=\"hot\"} 2"));
  const absl::Time start = absl::Now();
  server_.server().Drain();
  // Waiting for them to the deadline takes 10 s.
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  for (StepStream* stream : {&idle, &used}) {
    const grpc::Status status = stream->End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("the server stops"));
  }
}

TEST_F(StepStreamTest, AServerThatEndsLeavesNoStreamBehind) {
  TestServer other;
  const auto stub = v1::SchedulingService::NewStub(other.channel());
  auto stream = std::make_unique<StepStream>(*stub);
  EXPECT_TRUE(stream->Ask("engine: 'engines/chat'").has_error());
  { const TestServer ends = std::move(other); }
  EXPECT_THAT(stream->End().error_code(), AnyOf(grpc::StatusCode::UNAVAILABLE,
                                                grpc::StatusCode::CANCELLED));
}

TEST_F(StepStreamTest, ACancelledStreamIsGone) {
  StepStream stream(*stub_);
  EXPECT_TRUE(stream.Ask("engine: 'engines/chat' " + Pass(DecodeGroup(1, 9)))
                  .has_step());
  ASSERT_TRUE(Await(kOneOpen));
  stream.Cancel();
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Await(Handled("Canceled")));
  EXPECT_TRUE(Await(kIdle));
}

TEST_F(StepStreamTest, ADeadlineEndsAnIdleStream) {
  StepStream stream(*stub_, /*seconds=*/1);
  ASSERT_TRUE(Await(kOneOpen));
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Await(kIdle));
}

TEST_F(StepStreamTest, ManyAtOnceGetTheirOwnAnswers) {
  constexpr int kStreams = 32;
  std::vector<std::string> passes;
  for (int i = 0; i < kStreams; ++i) {
    passes.push_back(DecodeGroup(i + 1, 1000));
  }
  const std::vector<double> expected = Estimated("engines/chat", passes);
  std::vector<std::thread> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.emplace_back([&, i] {
      StepStream stream(*stub_);
      for (int round = 0; round < 50; ++round) {
        const Response answer = stream.Ask(absl::StrCat(
            "engine: 'engines/chat' ", Pass(passes[static_cast<size_t>(i)]),
            "correlation_id: ", round));
        EXPECT_EQ(answer.correlation_id(), round);
        EXPECT_NEAR(answer.step().step_time().seconds() /
                        expected[static_cast<size_t>(i)],
                    1, kCurveTolerance);
      }
      EXPECT_TRUE(stream.Close().ok());
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(Await(kIdle));
}

}  // namespace
}  // namespace mansard::testing
