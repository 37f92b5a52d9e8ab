// Calls that wait for or run on the pool for heavy calls: a full queue, callers
// that go away, drain. One pool thread, kept busy by long batches.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

v1::EstimateRequest Decode() {
  return Parse<v1::EstimateRequest>(R"pb(
    target {
      model_graph: "modelGraphs/llama-3.1-8b"
      hardware_profile: "hardwareProfiles/h100-sxm"
    }
    forward_pass {
      groups { role: ROLE_DECODE request_count: 1 new_token_count: 1 }
    }
  )pb");
}

// Some hundred milliseconds and more: rows of 190 passes of 1000 groups, until
// the answer is too large.
v1::BatchEstimateRequest LongBatch() {
  v1::EstimateRequest request = Decode();
  request.mutable_read_mask()->add_paths("estimate.ops");
  while (request.forward_pass().groups_size() < 1000) {
    *request.mutable_forward_pass()->add_groups() =
        request.forward_pass().groups(0);
  }
  v1::BatchEstimateRequest batch;
  while (batch.requests_size() < 190) *batch.add_requests() = request;
  return batch;
}

v1::ExplainRooflineRequest Roofline() {
  v1::ExplainRooflineRequest request;
  *request.mutable_request() = Decode();
  return request;
}

server::ServerOptions OneThread(int queue) {
  server::ServerOptions options = TestOptions();
  options.heavy_threads = 1;
  options.heavy_queue = queue;
  return options;
}

// A call in a thread of its own.
class Call {
 public:
  template <class Request, class Response, class Stub>
  Call(const std::shared_ptr<grpc::Channel>& channel,
       grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                    Response*),
       const Request& request, absl::Duration deadline = absl::Minutes(1)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    result_ = std::async(std::launch::async, [=, this] {
      Response response;
      Stub stub(channel);
      return (stub.*method)(&context_, request, &response);
    });
  }

  void Cancel() { context_.TryCancel(); }
  grpc::Status Status() { return result_.get(); }
  bool Done() const {
    return result_.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }

 private:
  grpc::ClientContext context_;
  std::future<grpc::Status> result_;
};

using Stub = v1::EstimationService::Stub;

class HeavyCallsTest : public ::testing::Test {
 protected:
  void Start(int queue) { server_.emplace(OneThread(queue)); }

  std::unique_ptr<Call> StartLong(absl::Duration deadline = absl::Minutes(1)) {
    return std::make_unique<Call>(server_->channel(), &Stub::BatchEstimate,
                                  LongBatch(), deadline);
  }
  std::unique_ptr<Call> StartRoofline(
      absl::Duration deadline = absl::Minutes(1)) {
    return std::make_unique<Call>(server_->channel(), &Stub::ExplainRoofline,
                                  Roofline(), deadline);
  }
  // Waits until the scrape has one of these lines.
  bool Await(const std::vector<std::string>& lines) {
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (absl::Now() < deadline) {
      const std::string metrics =
          HttpGet(server_->metrics_address(), "/metrics").body;
      for (const std::string& line : lines) {
        if (metrics.find(absl::StrCat("\n", line, "\n")) != std::string::npos) {
          return true;
        }
      }
      absl::SleepFor(absl::Milliseconds(2));
    }
    return false;
  }
  bool Await(const char* line) { return Await(std::vector<std::string>{line}); }
  static std::string Handled(const char* method, const char* code) {
    return absl::StrCat(
        "grpc_server_handled_total{grpc_code=\"", code, "\",grpc_method=\"",
        method,
        "\",grpc_service=\"mansard.v1.EstimationService\",grpc_type=\"unary\"} "
        "1");
  }
  // The pool's thread works on the long call.
  std::unique_ptr<Call> KeepBusy() {
    auto call = StartLong();
    EXPECT_TRUE(Await("mansard_heavy_rpc_wait_seconds_count 1"));
    return call;
  }

  std::optional<TestServer> server_;
};

TEST_F(HeavyCallsTest, AFullQueueIsRefusedAtOnce) {
  Start(1);
  const auto busy = KeepBusy();
  const auto waiting = StartRoofline();
  ASSERT_TRUE(Await("mansard_heavy_rpcs_queued 1"));
  ASSERT_FALSE(busy->Done()) << "the long call is too short";

  const grpc::Status status = StartRoofline()->Status();
  ErrorFacts facts = FactsOf(status);
  EXPECT_EQ(facts.code, grpc::StatusCode::RESOURCE_EXHAUSTED) << facts;
  EXPECT_EQ(facts.reason, "TOO_MANY_HEAVY_CALLS") << facts;
  EXPECT_EQ(facts.metadata["queue_limit"], "1");
  EXPECT_THAT(facts.message, HasSubstr("--heavy_queue"));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::RetryInfo retry;
  ASSERT_EQ(details.details_size(), 2);
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().seconds(), 0);
  EXPECT_TRUE(Await("mansard_heavy_rpcs_rejected_total 1"));

  // Short calls do not wait for long ones.
  v1::EstimateResponse response;
  EXPECT_TRUE(server_->Estimate(Decode(), &response).ok());
  EXPECT_TRUE(Await("mansard_rpcs_in_flight{class=\"heavy\"} 2"));

  EXPECT_TRUE(waiting->Status().ok());
  EXPECT_EQ(FactsOf(busy->Status()).reason, "RESPONSE_TOO_LARGE");
  EXPECT_TRUE(Await("mansard_heavy_rpcs_queued 0"));
  EXPECT_TRUE(Await("mansard_rpcs_in_flight{class=\"heavy\"} 0"));
}

TEST_F(HeavyCallsTest, AQueuedCallWhoseCallerIsGoneIsNotWorkedOn) {
  Start(10);
  const auto busy = KeepBusy();
  const auto cancelled = StartRoofline();
  ASSERT_TRUE(Await("mansard_heavy_rpcs_queued 1"));
  cancelled->Cancel();
  EXPECT_EQ(cancelled->Status().error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_FALSE(busy->Done()) << "the long call is too short";
  // Worked on, it would count as OK.
  EXPECT_TRUE(Await(Handled("ExplainRoofline", "Canceled").c_str()));
}

TEST_F(HeavyCallsTest, ACancelledBatchStops) {
  Start(10);
  const auto call = KeepBusy();
  call->Cancel();
  EXPECT_EQ(call->Status().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Await(Handled("BatchEstimate", "Canceled").c_str()));
}

TEST_F(HeavyCallsTest, ABatchStopsAtItsDeadline) {
  Start(10);
  const absl::Time start = absl::Now();
  EXPECT_EQ(FactsOf(StartLong()->Status()).reason, "RESPONSE_TOO_LARGE");
  const absl::Duration whole = absl::Now() - start;
  EXPECT_EQ(StartLong(whole / 5)->Status().error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // It had begun, and it ended early: done to the end, it would count as
  // ResourceExhausted. The server sees its deadline or the client's reset.
  EXPECT_TRUE(Await("mansard_heavy_rpc_wait_seconds_count 2"));
  EXPECT_TRUE(Await({Handled("BatchEstimate", "DeadlineExceeded"),
                     Handled("BatchEstimate", "Canceled")}));
}

TEST_F(HeavyCallsTest, DrainFinishesWhatIsQueued) {
  Start(10);
  const auto busy = KeepBusy();
  std::vector<std::unique_ptr<Call>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(StartRoofline());
  ASSERT_TRUE(Await("mansard_heavy_rpcs_queued 5"));
  server_->server().Drain();
  for (const auto& call : waiting) {
    const grpc::Status status = call->Status();
    EXPECT_TRUE(status.ok()) << FactsOf(status);
  }
  EXPECT_EQ(FactsOf(busy->Status()).reason, "RESPONSE_TOO_LARGE");
}

TEST_F(HeavyCallsTest, AServerThatEndsLeavesNoCallBehind) {
  Start(10);
  const auto busy = KeepBusy();
  std::vector<std::unique_ptr<Call>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(StartRoofline());
  ASSERT_TRUE(Await("mansard_heavy_rpcs_queued 5"));
  server_.reset();
  for (const auto& call : waiting) {
    EXPECT_THAT(
        call->Status().error_code(),
        AnyOf(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::CANCELLED));
  }
  EXPECT_FALSE(busy->Status().ok());
}

}  // namespace
}  // namespace mansard::testing
