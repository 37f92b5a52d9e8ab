// SchedulingService as a whole: what it counts, engines that cannot be
// resolved, callers with sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/store/sqlite_store.h"
#include "tests/support/scheduling_calls.h"
#include "tests/support/temporary_folder.h"

namespace mansard::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class SchedulingServiceTest : public SchedulingTest {
 protected:
  explicit SchedulingServiceTest(
      const server::ServerOptions& options = TestOptions())
      : SchedulingTest(options) {}

  // One of each; errors by reason, "" for answers.
  std::vector<std::string> CallAll(const std::string& engine) {
    const std::string name = absl::StrCat("engine: '", engine, "' ");
    const std::string shape =
        name + "shape { input_token_count: 100 output_token_count: 100 }";
    std::vector<std::string> reasons;
    reasons.push_back(
        Call(&Stub::RecommendBatchSize, Parse<v1::RecommendBatchSizeRequest>(
                                            name + "context_token_count: 100"))
            .facts()
            .reason);
    reasons.push_back(
        Call(&Stub::PredictSteps,
             Parse<v1::PredictStepsRequest>(
                 name +
                 "decode_request_counts: 1 decode_context_token_counts: 1"))
            .facts()
            .reason);
    reasons.push_back(Call(&Stub::FindEngineCapacity,
                           Parse<v1::FindEngineCapacityRequest>(shape))
                          .facts()
                          .reason);
    reasons.push_back(
        Call(&Stub::FitLatencyModel, Parse<v1::FitLatencyModelRequest>(shape))
            .facts()
            .reason);
    const auto row = Call(&Stub::PredictLatencies,
                          Parse<v1::PredictLatenciesRequest>(absl::StrCat(
                              "queries { input_token_count: 1 ", name, "}")));
    EXPECT_TRUE(row.ok());
    reasons.push_back(FactsOf(row.response.rows(0).error()).reason);
    reasons.push_back(StreamOne(
        absl::StrCat(name, "forward_pass { ", DecodeGroup(1, 100), " }")));
    return reasons;
  }
  std::string StreamOne(const std::string& message) {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = stub_->StreamPredictions(&context);
    stream->Write(Parse<v1::StreamPredictionsRequest>(message));
    v1::StreamPredictionsResponse response;
    EXPECT_TRUE(stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return FactsOf(response.error()).reason;
  }
  std::string Scrape() const {
    return HttpGet(server_.metrics_address(), "/metrics").body;
  }
};

std::string Series(const char* family, const char* method, const char* type,
                   const std::string& code = "") {
  return absl::StrCat(
      "\n", family, "{",
      code.empty() ? "" : absl::StrCat("grpc_code=\"", code, "\","),
      "grpc_method=\"", method,
      "\",grpc_service=\"mansard.v1.SchedulingService\",grpc_"
      "type=\"",
      type, "\"} ");
}

TEST_F(SchedulingServiceTest, CountsItsCallsByMethodAndCode) {
  CreateEngine("chat");
  EXPECT_THAT(CallAll("engines/chat"), ::testing::Each(""));
  CallAll("engines/chat");
  CallAll("engines/cat");
  CallAll("cat");
  // A stream is counted once its end has left.
  std::string text = Scrape();
  for (int i = 0; i < 1000; ++i) {
    if (text.find(Series("grpc_server_handled_total", "StreamPredictions",
                         "bidi_stream", "OK") +
                  "4\n") != std::string::npos) {
      break;
    }
    text = Scrape();
  }
  for (const char* method : {"RecommendBatchSize", "PredictSteps",
                             "FindEngineCapacity", "FitLatencyModel"}) {
    EXPECT_THAT(text,
                HasSubstr(Series("grpc_server_started_total", method, "unary") +
                          "4\n"));
    const char* kHandled = "grpc_server_handled_total";
    EXPECT_THAT(text,
                HasSubstr(Series(kHandled, method, "unary", "OK") + "2\n"));
    EXPECT_THAT(
        text, HasSubstr(Series(kHandled, method, "unary", "NotFound") + "1\n"));
    EXPECT_THAT(text,
                HasSubstr(Series(kHandled, method, "unary", "InvalidArgument") +
                          "1\n"));
    EXPECT_THAT(text, HasSubstr(Series("grpc_server_handling_seconds_count",
                                       method, "unary") +
                                "4\n"));
  }
  // Rows and messages fail alone.
  EXPECT_THAT(text, HasSubstr(Series("grpc_server_handled_total",
                                     "PredictLatencies", "unary", "OK") +
                              "4\n"));
  for (const char* family :
       {"grpc_server_started_total", "grpc_server_msg_received_total",
        "grpc_server_msg_sent_total"}) {
    EXPECT_THAT(
        text,
        HasSubstr(Series(family, "StreamPredictions", "bidi_stream") + "4\n"));
  }
}

// Engines come and go by the hundred: what they were told is by engine, up to
// the limit of a family; nothing else is, and none that is not there.
TEST_F(SchedulingServiceTest, OnlyRecommendationsAreByEngine) {
  CreateEngine("chat");
  CallAll("engines/chat");
  const auto others = [this] {
    int count = 0;
    const std::string text = Scrape();
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (!absl::StartsWith(line, "mansard_recommend")) ++count;
    }
    return count;
  };
  const int before = others();
  ASSERT_GT(before, 100);
  for (int i = 0; i < 10; ++i) {
    CreateEngine(absl::StrCat("chat-", i));
    EXPECT_THAT(CallAll(absl::StrCat("engines/chat-", i)), ::testing::Each(""));
    CallAll(absl::StrCat("engines/cat-", i));
  }
  EXPECT_EQ(others(), before);
  EXPECT_THAT(Scrape(), HasSubstr("mansard_recommendations_total{engine="
                                  "\"chat-9\",limit=\"engine\"} 1\n"));
  EXPECT_THAT(Scrape(), Not(HasSubstr("\"cat-")));
}

// Sums of equal requests determine the pass.
TEST_F(SchedulingServiceTest, AnEngineMayReportSums) {
  CreateEngine("chat");
  v1::EstimateResponse sums;
  grpc::Status status = server_.Estimate(
      Parse<v1::EstimateRequest>(
          "engine: 'engines/chat' forward_pass_sums { decode_request_count: 8 "
          "decode_prior_token_count: 8000 prefill_request_count: 2 "
          "prefill_token_count: 1024 prefill_prior_token_count: 200 }"),
      &sums);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  v1::EstimateResponse groups;
  status = server_.Estimate(
      Parse<v1::EstimateRequest>(
          absl::StrCat("engine: 'engines/chat' forward_pass { ",
                       PromptGroup(2, 512, 100), DecodeGroup(8, 1001), " }")),
      &groups);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(sums.estimate().SerializeAsString(),
            groups.estimate().SerializeAsString());
  EXPECT_EQ(sums.memory().SerializeAsString(),
            groups.memory().SerializeAsString());
  EXPECT_THAT(sums.resolution().warnings(),
              Contains(HasSubstr("counts_from_sums: ")));
  EXPECT_THAT(groups.resolution().warnings(),
              Not(Contains(HasSubstr("counts_from_sums"))));

  status = server_.Estimate(
      Parse<v1::EstimateRequest>(
          "engine: 'engines/chat' forward_pass_sums { decode_request_count: 0 "
          "decode_prior_token_count: 8000 prefill_request_count: 2 "
          "prefill_token_count: 1 prefill_token_variance: -1 }"),
      &sums);
  EXPECT_THAT(
      FactsOf(status).Fields(),
      ::testing::ElementsAre("forward_pass_sums.decode_prior_token_count",
                             "forward_pass_sums.prefill_token_count",
                             "forward_pass_sums.prefill_token_variance"))
      << FactsOf(status);
}

// Its state is there before the server and goes after it.
class StateOfATest {
 protected:
  TemporaryFolder folder_;
};

// An engine in the store that no version understands.
class BrokenEngineTest : protected StateOfATest, public SchedulingServiceTest {
 protected:
  BrokenEngineTest() : SchedulingServiceTest(WithBroken(folder_ / "state")) {}

  static server::ServerOptions WithBroken(const std::string& directory) {
    auto store = server::SqliteStore::Open(directory);
    EXPECT_TRUE(store.ok()) << store.status();
    server::StoredResource engine;
    engine.kind = server::StoredKind::kEngine;
    engine.id = "old";
    engine.revision_id = "0123456789ab";
    engine.etag = "0123456789ab";
    engine.content = "\xff\xff\xff";
    EXPECT_TRUE((*store)->Put(engine, "", 100).ok());
    server::ServerOptions options = TestOptions();
    options.state_dir = directory;
    return options;
  }
};

TEST_F(BrokenEngineTest, SaysSoEverywhere) {
  EXPECT_THAT(CallAll("engines/old"), ::testing::Each("ENGINE_BROKEN"));
  CreateEngine("chat");
  EXPECT_THAT(CallAll("engines/chat"), ::testing::Each(""));
}

}  // namespace
}  // namespace mansard::testing
