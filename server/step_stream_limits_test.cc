// What one stream may take: its caller, its connection, the pool for heavy
// calls.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/step_streams.h"

namespace mansard::testing {
namespace {

using Request = v1::StreamPredictionsRequest;
using Response = v1::StreamPredictionsResponse;

// It stops its own stream, and no other call.
TEST_F(StepStreamTest, ACallerThatDoesNotReadIsWaitedFor) {
  StepStream stream(*stub_);
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
  StepStream other(*stub_);
  EXPECT_TRUE(other.Ask("engine: 'engines/chat' " + Pass(DecodeGroup(1, 9)))
                  .has_step());
  stream.Cancel();
  writer.join();
  EXPECT_EQ(stream.End().error_code(), grpc::StatusCode::CANCELLED);
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
  StepStream stream(*stub_);
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
  StepStream first(*stub_);
  EXPECT_TRUE(first.Ask(question).has_step());
  {
    StepStream second(*stub_, /*seconds=*/1);
    Response response;
    second.Send(Parse<Request>(question));
    EXPECT_FALSE(second.Read(response));
    EXPECT_EQ(second.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(first.Close().ok());
  StepStream third(*stub_);
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
    const auto start = [&] {
      busy.emplace_back([this, batch] {
        v1::BatchEstimateResponse response;
        server_.BatchEstimate(batch, &response);
      });
    };
    start();
    // To create the engine was the first. Before the thread has taken this one,
    // another would find the queue full.
    EXPECT_TRUE(Await("mansard_heavy_rpc_wait_seconds_count 2"));
    start();
    EXPECT_TRUE(Await("mansard_heavy_rpcs_queued 1"));
    return busy;
  }
};

TEST_F(BusyPoolTest, LongPassesAreAnsweredOnThePool) {
  StepStream stream(*stub_);
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
  StepStream stream(*stub_);
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
    StepStream stream(*stub_);
    ASSERT_TRUE(
        stream.Send(Parse<Request>("engine: 'engines/chat' " + LongPass())));
    absl::SleepFor(absl::Microseconds(100 * i));
    stream.Cancel();
  }
  EXPECT_TRUE(Await(kIdle));
}

}  // namespace
}  // namespace mansard::testing
