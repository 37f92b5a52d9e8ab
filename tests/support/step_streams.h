// Streams of predictions in tests.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/scheduling_calls.h"

namespace mansard::testing {

inline constexpr char kIdle[] = "mansard_rpcs_in_flight{class=\"hot\"} 0";
inline constexpr char kOneOpen[] = "mansard_rpcs_in_flight{class=\"hot\"} 1";

// One stream of a client.
class StepStream {
 public:
  explicit StepStream(v1::SchedulingService::Stub& stub, int seconds = 60) {
    SetDeadline(context_, seconds);
    stream_ = stub.StreamPredictions(&context_);
  }
  ~StepStream() {
    context_.TryCancel();
    if (!finished_) stream_->Finish();
  }

  bool Send(const v1::StreamPredictionsRequest& request) {
    return stream_->Write(request);
  }
  bool Read(v1::StreamPredictionsResponse& response) {
    return stream_->Read(&response);
  }
  v1::StreamPredictionsResponse Ask(const std::string& text) {
    v1::StreamPredictionsResponse response;
    EXPECT_TRUE(Send(Parse<v1::StreamPredictionsRequest>(text)));
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
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamPredictionsRequest,
                                           v1::StreamPredictionsResponse>>
      stream_;
  bool finished_ = false;
};

inline std::string Pass(const std::string& groups) {
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

}  // namespace mansard::testing
