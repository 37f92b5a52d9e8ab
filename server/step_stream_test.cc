// StreamPredictions over real gRPC: answers, ends of every kind, limits.
#include "server/step_stream.h"

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
#include "tests/support/scheduling_calls.h"

namespace mansard::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Request = v1::StreamPredictionsRequest;
using Response = v1::StreamPredictionsResponse;

// One stream of a client.
class Stream {
 public:
  explicit Stream(v1::SchedulingService::Stub& stub, int seconds = 60) {
    SetDeadline(context_, seconds);
    stream_ = stub.StreamPredictions(&context_);
  }
  ~Stream() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  bool Send(const Request& request) { return stream_->Write(request); }
  bool Read(Response& response) { return stream_->Read(&response); }
  Response Ask(const std::string& text) {
    Response response;
    EXPECT_TRUE(Send(Parse<Request>(text)));
    EXPECT_TRUE(Read(response)) << text;
    return response;
  }
  void Cancel() { context_.TryCancel(); }
  // Without a further message.
  grpc::Status Close() {
    stream_->WritesDone();
    return End();
  }
  grpc::Status End() {
    finished_ = true;
    return stream_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
  bool finished_ = false;
};

std::string Pass(const std::string& groups) {
  return absl::StrCat("forward_pass { ", groups, " } ");
}

class StepStreamTest : public SchedulingTest {
 protected:
  explicit StepStreamTest(const server::ServerOptions& options = TestOptions())
      : SchedulingTest(options) {}
  void SetUp() override { CreateEngine("chat"); }

  void DeleteEngine(const std::string& id) {
    v1::DeleteEngineRequest request;
    request.set_name(absl::StrCat("engines/", id));
    ASSERT_TRUE(CallOf(server_.catalog(),
                       &v1::CatalogService::Stub::DeleteEngine, request)
                    .ok());
  }
  std::string Scrape() const {
    return HttpGet(server_.metrics_address(), "/metrics").body;
  }
  bool Await(const std::string& line) const {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (absl::Now() < deadline) {
      if (Scrape().find(absl::StrCat("\n", line, "\n")) != std::string::npos) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(2));
    }
    return false;
  }
  static std::string Handled(const char* code) {
    return absl::StrCat("grpc_server_handled_total{grpc_code=\"", code,
                        "\",grpc_method=\"StreamPredictions\",grpc_service="
                        "\"mansard.v1.SchedulingService\",grpc_type=\"bidi_"
                        "stream\"} 1");
  }
};

constexpr char kIdle[] = "mansard_rpcs_in_flight{class=\"hot\"} 0";
constexpr char kOneOpen[] = "mansard_rpcs_in_flight{class=\"hot\"} 1";

TEST_F(StepStreamTest, AnswersAsUnaryCallsDo) {
  CreateEngine("small", "target { model_graph: 'modelGraphs/qwen3-0.6b' }");
  Stream stream(*stub_);
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
  Stream stream(*stub_);
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
  Stream stream(*stub_);
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
  Stream idle(*stub_);
  Stream used(*stub_);
  EXPECT_TRUE(
      used.Ask("engine: 'engines/chat' " + Pass(DecodeGroup(1, 9))).has_step());
  ASSERT_TRUE(Await("mansard_rpcs_in_flight{class=\"hot\"} 2"));
  const absl::Time start = absl::Now();
  server_.server().Drain();
  // Waiting for them to the deadline takes 10 s.
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  for (Stream* stream : {&idle, &used}) {
    const grpc::Status status = stream->End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("the server stops"));
  }
}

TEST_F(StepStreamTest, AServerThatEndsLeavesNoStreamBehind) {
  TestServer other;
  const auto stub = v1::SchedulingService::NewStub(other.channel());
  auto stream = std::make_unique<Stream>(*stub);
  EXPECT_TRUE(stream->Ask("engine: 'engines/chat'").has_error());
  { const TestServer ends = std::move(other); }
  EXPECT_THAT(stream->End().error_code(), AnyOf(grpc::StatusCode::UNAVAILABLE,
                                                grpc::StatusCode::CANCELLED));
}

TEST_F(StepStreamTest, ACancelledStreamIsGone) {
  Stream stream(*stub_);
  EXPECT_TRUE(stream.Ask("engine: 'engines/chat' " + Pass(DecodeGroup(1, 9)))
                  .has_step());
  ASSERT_TRUE(Await(kOneOpen));
  stream.Cancel();
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Await(Handled("Canceled")));
  EXPECT_TRUE(Await(kIdle));
}

TEST_F(StepStreamTest, ADeadlineEndsAnIdleStream) {
  Stream stream(*stub_, /*seconds=*/1);
  ASSERT_TRUE(Await(kOneOpen));
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Await(kIdle));
}

// It stops its own stream, and no other call.
TEST_F(StepStreamTest, ACallerThatDoesNotReadIsWaitedFor) {
  Stream stream(*stub_);
  Request request = Parse<Request>("engine: 'engines/cat'");
  std::thread writer([&] {
    while (stream.Send(request)) {
    }
  });
  // Until its answers, with an error's details each, fill the windows.
  const std::string prefix =
      "\ngrpc_server_msg_sent_total{grpc_method=\"StreamPredictions\"";
  std::string last = "none";
  for (bool stuck = false; !stuck;) {
    absl::SleepFor(absl::Milliseconds(300));
    const std::string text = Scrape();
    const size_t at = text.find(prefix);
    ASSERT_NE(at, std::string::npos);
    const std::string line = text.substr(at, text.find('\n', at + 1) - at);
    stuck = line == last && line.back() != ' ';
    last = line;
  }
  EXPECT_GT(Estimated("engines/chat", DecodeGroup(1, 100)), 0);
  Stream other(*stub_);
  EXPECT_TRUE(other.Ask("engine: 'engines/chat' " + Pass(DecodeGroup(1, 9)))
                  .has_step());
  stream.Cancel();
  writer.join();
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::CANCELLED);
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
      Stream stream(*stub_);
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

class SmallMessagesTest : public StepStreamTest {
 protected:
  static server::ServerOptions Options() {
    server::ServerOptions options = TestOptions();
    options.max_receive_bytes = 1000;
    return options;
  }
  SmallMessagesTest() : StepStreamTest(Options()) {}
};

TEST_F(SmallMessagesTest, AMessageThatIsTooLargeEndsIt) {
  Stream stream(*stub_);
  Request request;
  request.set_engine(std::string(2000, 'x'));
  stream.Send(request);
  Response response;
  EXPECT_FALSE(stream.Read(response));
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Await(kIdle));
}

class FewStreamsTest : public StepStreamTest {
 protected:
  static server::ServerOptions Options() {
    server::ServerOptions options = TestOptions();
    options.max_concurrent_streams = 1;
    return options;
  }
  FewStreamsTest() : StepStreamTest(Options()) {}
};

TEST_F(FewStreamsTest, AStreamTakesAPlaceOfItsConnection) {
  const std::string question =
      "engine: 'engines/chat' " + Pass(DecodeGroup(1, 9));
  Stream first(*stub_);
  EXPECT_TRUE(first.Ask(question).has_step());
  {
    Stream second(*stub_, /*seconds=*/1);
    Response response;
    second.Send(Parse<Request>(question));
    EXPECT_FALSE(second.Read(response));
    EXPECT_EQ(second.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(first.Close().ok());
  Stream third(*stub_);
  EXPECT_TRUE(third.Ask(question).has_step());
}

// Of as many groups as a pass may have: on the pool, whose one thread can be
// kept busy, and behind which one call may wait.
class BusyPoolTest : public StepStreamTest {
 protected:
  static server::ServerOptions Options() {
    server::ServerOptions options = TestOptions();
    options.heavy_threads = 1;
    options.heavy_queue = 1;
    return options;
  }
  BusyPoolTest() : StepStreamTest(Options()) {}

  static std::string LongPass() {
    std::string groups;
    for (int i = 0; i < 1024; ++i) groups += DecodeGroup(1, 100 + i);
    return Pass(groups);
  }
  // Calls of some hundred milliseconds: one for the thread, one that waits.
  std::vector<std::thread> KeepBusy() {
    v1::BatchEstimateRequest batch;
    *batch.add_requests() = Parse<v1::EstimateRequest>(absl::StrCat(
        "engine: 'engines/chat' read_mask { paths: 'estimate.ops' } ",
        LongPass()));
    while (batch.requests_size() < 30) {
      *batch.add_requests() = batch.requests(0);
    }
    std::vector<std::thread> busy;
    for (int i = 0; i < 2; ++i) {
      busy.emplace_back([this, batch] {
        v1::BatchEstimateResponse response;
        server_.BatchEstimate(batch, &response);
      });
    }
    // To create the engine was the first.
    EXPECT_TRUE(Await("mansard_heavy_rpc_wait_seconds_count 2"));
    EXPECT_TRUE(Await("mansard_heavy_rpcs_queued 1"));
    return busy;
  }
};

TEST_F(BusyPoolTest, LongPassesAreAnsweredOnThePool) {
  Stream stream(*stub_);
  const Response answer = stream.Ask("engine: 'engines/chat' " + LongPass());
  ASSERT_TRUE(answer.has_step()) << answer.ShortDebugString();
  v1::EstimateResponse expected;
  ASSERT_TRUE(server_
                  .Estimate(Parse<v1::EstimateRequest>(absl::StrCat(
                                "engine: 'engines/chat' ", LongPass())),
                            &expected)
                  .ok());
  EXPECT_NEAR(
      answer.step().step_time().seconds() / expected.estimate().time_seconds(),
      1, kCurveTolerance);
  // With the engine's creation and the estimate.
  EXPECT_TRUE(Await("mansard_heavy_rpc_wait_seconds_count 3"));
  EXPECT_TRUE(stream.Ask(Pass(DecodeGroup(1, 9))).has_step());
  EXPECT_TRUE(Await("mansard_heavy_rpc_wait_seconds_count 3"));
}

TEST_F(BusyPoolTest, AFullPoolRefusesLongPassesAndAnswersShortOnes) {
  Stream stream(*stub_);
  std::vector<std::thread> busy = KeepBusy();
  const Response refused =
      stream.Ask("engine: 'engines/chat' correlation_id: 3 " + LongPass());
  EXPECT_EQ(refused.correlation_id(), 3);
  const ErrorFacts facts = FactsOf(refused.error());
  EXPECT_EQ(facts.code, grpc::StatusCode::RESOURCE_EXHAUSTED) << facts;
  EXPECT_EQ(facts.reason, "TOO_MANY_HEAVY_CALLS");
  // It named the engine all the same.
  EXPECT_TRUE(stream.Ask(Pass(DecodeGroup(1, 9))).has_step());
  v1::FitLatencyModelRequest fit;
  fit.set_engine("engines/chat");
  EXPECT_EQ(Call(&Stub::FitLatencyModel, fit).facts().reason,
            "TOO_MANY_HEAVY_CALLS");
  v1::RecommendBatchSizeRequest recommend;
  recommend.set_engine("engines/chat");
  recommend.set_context_token_count(1000);
  EXPECT_TRUE(Call(&Stub::RecommendBatchSize, recommend).ok());
  for (std::thread& call : busy) call.join();
}

TEST_F(BusyPoolTest, ACallerThatLeavesDuringALongPassLeavesNothing) {
  for (int i = 0; i < 20; ++i) {
    Stream stream(*stub_);
    ASSERT_TRUE(
        stream.Send(Parse<Request>("engine: 'engines/chat' " + LongPass())));
    absl::SleepFor(absl::Microseconds(100 * i));
    stream.Cancel();
  }
  EXPECT_TRUE(Await(kIdle));
}

}  // namespace
}  // namespace mansard::testing
