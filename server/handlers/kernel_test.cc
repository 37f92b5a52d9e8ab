// EstimateKernel over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr char kH100[] =
    R"(target { hardware_profile: "hardwareProfiles/h100-sxm" } )";

grpc::Status Call(const std::string& request,
                  v1::EstimateKernelResponse* response) {
  static TestServer* const kServer = new TestServer;
  const auto stub = v1::EstimationService::NewStub(kServer->channel());
  grpc::ClientContext context;
  SetDeadline(context);
  return stub->EstimateKernel(
      &context, Parse<v1::EstimateKernelRequest>(request), response);
}

v1::EstimateKernelResponse Answered(const std::string& request) {
  v1::EstimateKernelResponse response;
  const grpc::Status status = Call(request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

ErrorFacts Refused(const std::string& request) {
  v1::EstimateKernelResponse response;
  const grpc::Status status = Call(request, &response);
  EXPECT_FALSE(status.ok()) << request;
  ErrorFacts facts = FactsOf(status);
  EXPECT_EQ(facts.domain, "mansard");
  return facts;
}

TEST(EstimateKernel, AnswersEachKind) {
  const char* const kKernels[] = {
      R"(gemm { m: 64 n: 4096 k: 4096 })",
      R"(attention {
           forward_pass { groups { role: ROLE_DECODE request_count: 8
                                   new_token_count: 1 prior_token_count: 999 } }
           attention { query_head_count: 32
                       grouped_query { kv_head_count: 8 head_size: 128 } } })",
      R"(attention {
           forward_pass { groups { role: ROLE_DECODE request_count: 8
                                   new_token_count: 1 prior_token_count: 999 } }
           attention { query_head_count: 16
                       multi_head_latent { kv_lora_rank: 512 nope_head_size: 128
                         rope_head_size: 64 value_head_size: 128 } } })",
      R"(moe { token_count: 64 hidden_size: 4096
               experts { expert_count: 8 experts_per_token_count: 2
                         expert_intermediate_size: 14336 gated: true } })",
      R"(collective { collective: "all_gather" message_bytes: 1e6
                      rank_count: 8 })",
      R"(elementwise { operation: "norm" row_count: 64 column_count: 4096 })",
  };
  for (const char* kernel : kKernels) {
    const v1::EstimateKernelResponse response =
        Answered(absl::StrCat(kH100, kernel));
    EXPECT_GT(response.floor_seconds(), 0) << kernel;
    EXPECT_LE(response.floor_seconds(), response.overlapped_seconds());
    EXPECT_LE(response.overlapped_seconds(), response.time_seconds());
    EXPECT_LE(response.time_seconds(), response.serial_seconds());
    EXPECT_LE(response.p10_seconds(), response.time_seconds());
    EXPECT_LE(response.time_seconds(), response.p90_seconds());
    double sum = 0;
    for (const v1::OpEstimate& op : response.ops()) {
      sum += op.time_seconds();
      EXPECT_FALSE(op.op().empty());
      EXPECT_THAT(op.advice(),
                  ::testing::StartsWith(op.limiting_resource() + ": "));
    }
    EXPECT_NEAR(response.time_seconds(), sum, 1e-12);
    EXPECT_EQ(response.resolution().model_graph_revision(), "");
    EXPECT_THAT(response.resolution().hardware_profile_revision(),
                HasSubstr("hardwareProfiles/h100-sxm@"));
    EXPECT_EQ(response.resolution().content_hash().size(), 12u);
  }
}

TEST(EstimateKernel, AgreesWithTheSameOpInAModel) {
  TestServer server;
  v1::EstimateResponse step;
  ASSERT_TRUE(server
                  .Estimate(Parse<v1::EstimateRequest>(R"pb(
                              target {
                                model_graph: "modelGraphs/llama-3.1-8b"
                                hardware_profile: "hardwareProfiles/h100-sxm"
                              }
                              forward_pass {
                                groups {
                                  role: ROLE_DECODE
                                  request_count: 64
                                  new_token_count: 1
                                  prior_token_count: 4095
                                }
                              }
                              read_mask { paths: "estimate.ops" }
                            )pb"),
                            &step)
                  .ok());
  const auto in_step = [&step](const std::string& name) {
    for (const v1::OpEstimate& op : step.estimate().ops()) {
      if (op.op() == name) return op.time_seconds();
    }
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(
      Answered(absl::StrCat(kH100, "gemm { m: 64 n: 6144 k: 4096 }"))
          .time_seconds(),
      in_step("layers.dense.qkv_proj"));
  EXPECT_DOUBLE_EQ(Answered(absl::StrCat(kH100, R"(attention {
        forward_pass { groups { role: ROLE_DECODE request_count: 64
                                new_token_count: 1 prior_token_count: 4095 } }
        attention { query_head_count: 32
                    grouped_query { kv_head_count: 8 head_size: 128 } } })"))
                       .time_seconds(),
                   in_step("layers.dense.attention"));
}

TEST(EstimateKernel, RanksMayComeFromTheTarget) {
  const char* kTwice = R"(
    target { hardware_profile: "hardwareProfiles/h100-sxm"
             parallelism { tensor_size: 8 } }
    collective { collective: "all_reduce" message_bytes: 1e6 )";
  const double named =
      Answered(absl::StrCat(kH100, R"(collective { collective: "all_reduce"
                                 message_bytes: 1e6 rank_count: 8 })"))
          .time_seconds();
  EXPECT_EQ(Answered(absl::StrCat(kTwice, "}")).time_seconds(), named);
  EXPECT_THAT(Refused(absl::StrCat(kTwice, "rank_count: 4 }")).Fields(),
              ElementsAre("collective.rank_count"));
}

TEST(EstimateKernel, HashFollowsTheWork) {
  const auto hash = [](const char* kernel) {
    return Answered(absl::StrCat(kH100, kernel)).resolution().content_hash();
  };
  EXPECT_EQ(hash("gemm { m: 1 n: 2 k: 3 }"),
            hash("gemm { m: 1 n: 2 k: 3 batch_count: 1 }"));
  EXPECT_NE(hash("gemm { m: 1 n: 2 k: 3 }"), hash("gemm { m: 1 n: 2 k: 4 }"));
  EXPECT_NE(
      hash(R"(elementwise { operation: "add" row_count: 1 column_count: 1 })"),
      hash(R"(elementwise { operation: "add" row_count: 1 column_count: 1
                            fused_operation_count: 1 })"));
}

struct RefusedCase {
  const char* name;
  std::string request;
  std::vector<std::string> fields;  // All of them, sorted.
};

TEST(EstimateKernel, NamesEveryField) {
  const RefusedCase kCases[] = {
      {"nothing", "", {"kernel", "target"}},
      {"a model's fields",
       R"(target { model_graph: "modelGraphs/llama-3.1-8b"
                   hardware_profile: "hardwareProfiles/h100-sxm"
                   kv_head_count: 8 unfused_attention: true
                   parallelism { tensor_size: 2 data_size: 2 } }
          gemm { m: 1 n: 1 k: 1 })",
       {"target.kv_head_count", "target.model_graph",
        "target.parallelism.data_size", "target.parallelism.tensor_size",
        "target.unfused_attention"}},
      {"hardware, format and sizes",
       R"(target { precision { weights: "bf17" } } gemm { n: -1 k: 1 })",
       {"gemm.m", "gemm.n", "target.hardware_profile",
        "target.precision.weights"}},
      {"attention without parts",
       absl::StrCat(kH100, "attention { }"),
       {"attention.attention", "attention.forward_pass.groups"}},
      {"attention with a broken pass and heads",
       absl::StrCat(kH100, R"(attention {
         forward_pass { groups { role: ROLE_DECODE new_token_count: 1 } }
         attention { query_head_count: 3
                     grouped_query { kv_head_count: 2 head_size: 64 } } })"),
       {"attention.attention.grouped_query.kv_head_count",
        "attention.forward_pass.groups[0].request_count"}},
      {"full with a window",
       absl::StrCat(kH100, R"(attention { full: true
         forward_pass { groups { role: ROLE_PREFILL request_count: 1
                                 new_token_count: 1 } }
         attention { query_head_count: 2 sliding_window_token_count: 4
                     grouped_query { kv_head_count: 2 head_size: 64 } } })"),
       {"attention.full"}},
      {"moe without experts",
       absl::StrCat(kH100, "moe { }"),
       {"moe.experts", "moe.hidden_size", "moe.token_count"}},
      {"unknown collective, too many ranks",
       absl::StrCat(kH100, R"(collective { collective: "all_scatter"
                               message_bytes: nan rank_count: 70000 })"),
       {"collective.collective", "collective.message_bytes",
        "collective.rank_count"}},
      {"what exchanges lack and have too much",
       absl::StrCat(kH100, R"(collective { collective: "expert_dispatch"
                               message_bytes: 1 rank_count: 16 node_count: 3
                               algorithm: "quick"
                               exchanged { expert_count: 24
                                           imbalance_ratio: 0.5 } })"),
       {"collective.algorithm", "collective.exchanged.expert_count",
        "collective.exchanged.experts_per_token_count",
        "collective.exchanged.hidden_size",
        "collective.exchanged.imbalance_ratio",
        "collective.exchanged.token_count", "collective.message_bytes",
        "collective.node_count"}},
      {"an algorithm that there is not",
       absl::StrCat(kH100, R"(collective { collective: "all_gather"
                               message_bytes: 1e6 rank_count: 8
                               algorithm: "tree" })"),
       {"collective.algorithm"}},
      {"unknown operation",
       absl::StrCat(kH100, R"(elementwise { operation: "softmax" })"),
       {"elementwise.column_count", "elementwise.operation",
        "elementwise.row_count"}},
  };
  for (const RefusedCase& c : kCases) {
    const ErrorFacts facts = Refused(c.request);
    EXPECT_EQ(facts.reason, "INVALID_REQUEST") << c.name << facts;
    EXPECT_THAT(facts.Fields(), ElementsAreArray(c.fields)) << c.name << facts;
  }
}

TEST(EstimateKernel, WhatIsNotThereOrNotSupported) {
  EXPECT_EQ(Refused(R"(target { hardware_profile: "hardwareProfiles/h100" }
                       gemm { m: 1 n: 1 k: 1 })")
                .reason,
            "HARDWARE_PROFILE_NOT_FOUND");
  EXPECT_EQ(Refused(R"(target { hardware_profile: "hardwareProfiles/h100-sxm"
                                kernel_stack: "none" }
                       gemm { m: 1 n: 1 k: 1 })")
                .reason,
            "KERNEL_STACK_NOT_FOUND");
  const ErrorFacts facts =
      Refused(R"(target { hardware_profile: "hardwareProfiles/a100-sxm-80gb"
                          precision { weights: "fp8" activations: "fp8" } }
                 gemm { m: 1 n: 1 k: 1 })");
  EXPECT_EQ(facts.reason, "PRECISION_UNSUPPORTED");
  EXPECT_EQ(facts.metadata.at("precision"), "fp8-e4m3");
  EXPECT_EQ(facts.metadata.at("hardware"), "a100-sxm-80gb");
}

}  // namespace
}  // namespace mansard::testing
