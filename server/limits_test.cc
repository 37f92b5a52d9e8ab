// Limits of connections, and input that is meant to hurt, over real gRPC.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/error_facts.h"
#include "tests/support/raw_calls.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kEstimation[] = "mansard.v1.EstimationService";

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

TEST(ConnectionLimits, AnOldConnectionIsReplaced) {
  server::ServerOptions options = TestOptions();
  options.max_connection_age = absl::Milliseconds(200);
  options.max_connection_age_grace = absl::Milliseconds(100);
  TestServer server(options);
  // A call without an end is cut after age and grace; others go on over a new
  // connection.
  HealthWatch watch(server.channel(), kEstimation);
  ASSERT_EQ(watch.Next(), Serving::kServing);
  EXPECT_EQ(watch.Next(), std::nullopt);
  v1::EstimateResponse response;
  const grpc::Status status = server.Estimate(Decode(), &response);
  EXPECT_TRUE(status.ok()) << FactsOf(status);
}

TEST(ConnectionLimits, AnIdleConnectionIsClosed) {
  server::ServerOptions options = TestOptions();
  options.max_connection_idle = absl::Milliseconds(200);
  TestServer server(options);
  v1::EstimateResponse response;
  ASSERT_TRUE(server.Estimate(Decode(), &response).ok());
  EXPECT_TRUE(server.channel()->WaitForStateChange(
      GRPC_CHANNEL_READY,
      std::chrono::system_clock::now() + std::chrono::seconds(20)));
  EXPECT_TRUE(server.Estimate(Decode(), &response).ok());
}

TEST(ConnectionLimits, CallsBeyondTheStreamsWait) {
  server::ServerOptions options = TestOptions();
  options.max_concurrent_streams = 1;
  TestServer server(options);
  const auto stub = v1::EstimationService::NewStub(server.channel());
  const auto estimate = [&stub](int milliseconds) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(milliseconds));
    v1::EstimateResponse response;
    return stub->Estimate(&context, Decode(), &response).error_code();
  };
  {
    HealthWatch watch(server.channel(), kEstimation);
    ASSERT_EQ(watch.Next(), Serving::kServing);
    EXPECT_EQ(estimate(500), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_EQ(estimate(30'000), grpc::StatusCode::OK);
}

ErrorFacts Import(TestServer& server, const std::string& json) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ImportHuggingFaceConfigRequest request;
  request.set_config_json(json);
  v1::ImportHuggingFaceConfigResponse response;
  return FactsOf(
      server.catalog().ImportHuggingFaceConfig(&context, request, &response));
}

TEST(HostileInput, ConfigsAreRefusedWithAReason) {
  TestServer server;
  const std::string cases[] = {
      std::string(1'000'000, '['),
      std::string(500'000, '[') + std::string(500'000, ']'),
      absl::StrCat("{\"a\": ", std::string(100'000, '['),
                   std::string(100'000, ']'), "}"),
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": Infinity})",
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": NaN})",
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": -Infinity})",
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 1e999})",
      R"({"hidden_size": 9223372036854775808})",
      std::string(1'000'001, ' '),
      std::string("\0{}", 3),
  };
  for (const std::string& json : cases) {
    const ErrorFacts facts = Import(server, json);
    EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT)
        << json.substr(0, 80) << ": " << facts;
    EXPECT_FALSE(facts.reason.empty()) << facts;
    EXPECT_LT(facts.message.size(), 1100u);
  }
  EXPECT_EQ(Import(server, std::string(5'000'000, ' ')).code,
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Names that are not UTF-8 are no proto3 strings: gRPC itself refuses the
// message. Sent as bytes: the generated stubs would complain on our side.
TEST(HostileInput, TextThatIsNotUtf8DoesNotReachAHandler) {
  TestServer server;
  const std::string graph = "\xff\xfe";
  const std::string target =
      absl::StrCat("\x0a", std::string(1, '\x02'), graph);
  const std::string bytes = absl::StrCat(
      "\x12", std::string(1, static_cast<char>(target.size())), target);
  grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(server.channel());
  const auto call = stub.PrepareUnaryCall(
      &context, "/mansard.v1.EstimationService/Estimate", request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // And the server lives.
  v1::EstimateResponse estimate;
  EXPECT_TRUE(server.Estimate(Decode(), &estimate).ok());
}

TEST(HostileInput, ProductsThatOverflowAreRefused) {
  TestServer server;
  v1::EstimateRequest request = Decode();
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetModelGraphRequest get;
  get.set_name("modelGraphs/llama-3.1-8b");
  v1::ModelGraph& graph =
      *request.mutable_target()->mutable_inline_model_graph();
  ASSERT_TRUE(server.catalog().GetModelGraph(&context, get, &graph).ok());
  // As long a context as a graph may have.
  graph.set_max_context_token_count(int64_t{1} << 40);
  v1::ForwardPass::Group& group =
      *request.mutable_forward_pass()->mutable_groups(0);
  group.set_request_count(2'147'483'647);
  group.set_prior_token_count(int64_t{1} << 62);
  v1::EstimateResponse response;
  const ErrorFacts facts = FactsOf(server.Estimate(request, &response));
  EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT) << facts;
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(facts.message, HasSubstr("forward_pass.groups[0]")) << facts;
}

}  // namespace
}  // namespace mansard::testing
