// Rows and messages of a scheduler's calls take no memory but that of their
// answers, which an arena has.
#include <google/protobuf/arena.h>
#include <grpcpp/server_context.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "server/env.h"
#include "server/handlers/scheduling.h"
#include "server/rpc.h"
#include "tests/support/allocations.h"

namespace mansard::server {
namespace {

using mansard::testing::Allocations;

class SchedulingAllocationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto catalog = Catalog::OpenInMemory();
    ASSERT_TRUE(catalog.ok());
    env_ =
        std::make_unique<ServerEnv>(LogLevel::kOff, *std::move(catalog), 1, 1);
    v1::Engine said;
    said.mutable_target()->set_model_graph("modelGraphs/llama-3.1-8b");
    said.mutable_target()->set_hardware_profile("hardwareProfiles/h100-sxm");
    CatalogWriter writer(*env_->catalog);
    model::Violations violations;
    const auto entry = MakeEntry(writer.snapshot(), "chat", said, nullptr,
                                 writer.now(), violations);
    ASSERT_TRUE(entry.ok()) << violations.ToStatus();
    ASSERT_TRUE(writer.Put("chat", *entry, /*validate_only=*/false).ok());
  }

  // Of one call whose answer has room in its arena.
  template <class Request, class Response>
  int64_t Of(Handler<Request, Response> handler, const Request& request) {
    std::vector<char> block(1 << 20);
    google::protobuf::ArenaOptions options;
    options.initial_block = block.data();
    options.initial_block_size = block.size();
    google::protobuf::Arena arena(options);
    Response& response =
        *google::protobuf::Arena::CreateMessage<Response>(&arena);
    const grpc::CallbackServerContext context;
    CallContext call(*env_, context);
    const int64_t before = Allocations();
    const absl::Status status = handler(call, request, response);
    const int64_t made = Allocations() - before;
    EXPECT_TRUE(status.ok()) << status;
    return made;
  }

  std::unique_ptr<ServerEnv> env_;
};

v1::PredictStepsRequest Steps(int rows) {
  v1::PredictStepsRequest request;
  request.set_engine("engines/chat");
  for (int i = 0; i < rows; ++i) {
    request.add_decode_request_counts(1 + i % 64);
    request.add_decode_context_token_counts(1000 + i);
    request.add_prefill_request_counts(i % 2);
    request.add_prefill_token_counts(512);
    request.add_prefill_prior_token_counts(i);
  }
  return request;
}

v1::PredictLatenciesRequest Latencies(int rows) {
  v1::PredictLatenciesRequest request;
  for (int i = 0; i < rows; ++i) {
    v1::LatencyQuery& query = *request.add_queries();
    query.set_engine("engines/chat");
    query.mutable_state()->set_running_request_count(30 + i);
    query.mutable_state()->set_prefill_tokens_in_flight_count(5000);
    query.set_input_token_count(2000);
    query.set_output_token_count(100);
    query.mutable_slo()->set_end_to_end_latency_seconds(1);
  }
  return request;
}

TEST_F(SchedulingAllocationsTest, ColumnsTakeNoneForARow) {
  EXPECT_EQ(Of(&PredictSteps, Steps(1000)), Of(&PredictSteps, Steps(1)));
}

TEST_F(SchedulingAllocationsTest, LatenciesTakeNoneForARow) {
  EXPECT_EQ(Of(&PredictLatencies, Latencies(100)),
            Of(&PredictLatencies, Latencies(1)));
}

TEST_F(SchedulingAllocationsTest, MessagesTakeNone) {
  v1::StreamPredictionsRequest request;
  request.set_engine("engines/chat");
  v1::ForwardPass::Group& group = *request.mutable_forward_pass()->add_groups();
  group.set_role(v1::ForwardPass::ROLE_DECODE);
  group.set_request_count(64);
  group.set_new_token_count(1);
  group.set_prior_token_count(1000);
  v1::StreamPredictionsResponse response;
  StepStream stream;
  const grpc::CallbackServerContext context;
  int64_t made = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = Allocations();
    CallContext call(*env_, context);
    PredictStep(call, stream, request, response);
    made = Allocations() - before;
  }
  ASSERT_TRUE(response.has_step());
  // Its answer's two parts.
  EXPECT_LE(made, 2);
}

// A search over batches takes none for a batch.
TEST_F(SchedulingAllocationsTest, ASearchTakesNoneForABatch) {
  v1::RecommendBatchSizeRequest request;
  request.set_engine("engines/chat");
  request.set_context_token_count(1000);
  const int64_t unbounded = Of(&RecommendBatchSize, request);
  request.mutable_slo()->set_inter_token_latency_seconds(.01);
  EXPECT_LE(Of(&RecommendBatchSize, request), unbounded + 2);
  EXPECT_LT(unbounded, 40);
  EXPECT_GT(unbounded, 0);  // Its answer says what it was resolved from.
}

}  // namespace
}  // namespace mansard::server
