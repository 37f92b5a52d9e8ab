// PlanKvTransfer over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTarget[] = R"(target {
  model_graph: "modelGraphs/llama-3.1-70b"
  hardware_profile: "hardwareProfiles/h100-sxm"
  parallelism { tensor_size: 8 }
} )";
constexpr char kPrefix[] = "prefix_token_count: 8192 ";

TestServer& TheServer() {
  static TestServer* const kServer = new TestServer;
  return *kServer;
}

grpc::Status Call(const std::string& request,
                  v1::PlanKvTransferResponse* response) {
  const auto stub = v1::PlanningService::NewStub(TheServer().channel());
  grpc::ClientContext context;
  SetDeadline(context);
  return stub->PlanKvTransfer(
      &context, Parse<v1::PlanKvTransferRequest>(request), response);
}

v1::PlanKvTransferResponse Answer(const std::string& request) {
  v1::PlanKvTransferResponse response;
  const grpc::Status status = Call(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

ErrorFacts Refused(const std::string& request) {
  v1::PlanKvTransferResponse response;
  const grpc::Status status = Call(request, &response);
  EXPECT_FALSE(status.ok()) << request;
  return FactsOf(status);
}

// 327,680 bytes a token, over NICs of 50 GB/s.
TEST(PlanKvTransfer, BytesAndTimes) {
  const auto response = Answer(absl::StrCat(
      kTarget, kPrefix, "source_tiers: \"rdma\" source_tiers: \"hbm\" ",
      "nic_count: 1"));
  EXPECT_EQ(response.instance_bytes(), int64_t{8192} * 327680);
  EXPECT_EQ(response.rank_bytes(), 1024 * 327680);
  ASSERT_EQ(response.options_size(), 2);
  const auto& rdma = response.options(0);
  EXPECT_EQ(rdma.source_tier(), "rdma");
  EXPECT_NEAR(rdma.floor_seconds(), 53.687e-3, 1e-6);
  EXPECT_GT(rdma.transfer_seconds(), rdma.floor_seconds());
  EXPECT_GE(rdma.exposed_seconds(), 0);
  EXPECT_LE(rdma.exposed_seconds(), rdma.transfer_seconds());
  EXPECT_EQ(rdma.fetch_is_faster(),
            rdma.transfer_seconds() <= response.recompute_seconds());
  EXPECT_EQ(response.options(1).transfer_seconds(), 0);
  EXPECT_EQ(response.resolution().kernel_stack(), "generic");
  EXPECT_FALSE(response.resolution().content_hash().empty());
}

TEST(PlanKvTransfer, EqualRequestsHaveEqualHashes) {
  const auto hash = [](const std::string& more) {
    return Answer(
               absl::StrCat(kTarget, kPrefix, "source_tiers: \"rdma\" ", more))
        .resolution()
        .content_hash();
  };
  EXPECT_EQ(hash(""), hash(""));
  EXPECT_NE(hash(""), hash("nic_count: 1"));
  EXPECT_NE(hash(""), hash("cached_token_count: 1"));
}

TEST(PlanKvTransfer, RefusesAllThatIsWrongAtOnce) {
  EXPECT_THAT(Refused("").Fields(),
              ElementsAre("prefix_token_count", "source_tiers", "target"));
  EXPECT_THAT(
      Refused(absl::StrCat(kTarget, R"(prefix_token_count: 200000
          cached_token_count: -1 source_tiers: "disk" source_tiers: "storage"
          target { kv_transfer { tier: "rdma" } })"))
          .Fields(),
      ElementsAre("cached_token_count", "prefix_token_count", "source_tiers[0]",
                  "storage_bandwidth_bytes_per_second",
                  "storage_latency_seconds", "target.kv_transfer"));
  // No room for peers beside eight ranks; no NVLink at all.
  EXPECT_THAT(
      Refused(absl::StrCat(kTarget, kPrefix, "source_tiers: \"nvlink\""))
          .Fields(),
      ElementsAre("source_tiers[0]"));
  EXPECT_EQ(Refused(R"(target { model_graph: "modelGraphs/absent"
                                hardware_profile: "hardwareProfiles/h100-sxm" }
                       prefix_token_count: 8192 source_tiers: "rdma")")
                .reason,
            "MODEL_GRAPH_NOT_FOUND");
}

constexpr char kPass[] = R"(
  forward_pass { groups { role: ROLE_PREFILL request_count: 1
                          new_token_count: 8192 } }
  read_mask { paths: "estimate.ops" } )";

TEST(EstimateWithKvTransfer, TheStepIncludesIt) {
  v1::EstimateResponse alone, sent;
  ASSERT_TRUE(
      TheServer()
          .Estimate(Parse<v1::EstimateRequest>(absl::StrCat(kTarget, kPass)),
                    &alone)
          .ok());
  ASSERT_TRUE(TheServer()
                  .Estimate(Parse<v1::EstimateRequest>(absl::StrCat(
                                kTarget, kPass,
                                R"(target { kv_transfer { tier: "rdma" } })")),
                            &sent)
                  .ok());
  const auto& op = *sent.estimate().ops().rbegin();
  EXPECT_EQ(op.op(), "kv_transfer");
  EXPECT_EQ(op.op_kind(), "send_receive");
  EXPECT_NEAR(op.floor_seconds(), 6.711e-3, 1e-6);
  EXPECT_NEAR(sent.estimate().time_seconds(),
              alone.estimate().time_seconds() + op.time_seconds(), 1e-9);
  EXPECT_NE(sent.resolution().content_hash(),
            alone.resolution().content_hash());
  EXPECT_THAT(sent.resolution().assumptions(),
              ::testing::Contains(HasSubstr("keys and values cross rdma")));
}

TEST(EstimateWithKvTransfer, Refuses) {
  const auto fields = [](const std::string& transfer) {
    v1::EstimateResponse response;
    const grpc::Status status = TheServer().Estimate(
        Parse<v1::EstimateRequest>(absl::StrCat(
            kTarget, kPass, "target { kv_transfer { ", transfer, " } }")),
        &response);
    EXPECT_FALSE(status.ok()) << transfer;
    return FactsOf(status).Fields();
  };
  EXPECT_THAT(fields(""), ElementsAre("target.kv_transfer.tier"));
  EXPECT_THAT(
      fields("tier: \"nvlink\" nic_count: 2"),
      ElementsAre("target.kv_transfer.nic_count", "target.kv_transfer.tier"));
  EXPECT_THAT(fields("tier: \"rdma\" nic_count: -1"),
              ElementsAre("target.kv_transfer.nic_count"));
}

}  // namespace
}  // namespace mansard::testing
