// Attention, element-wise work and the parts of a time, after the literature's
// worked numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "tests/literature/literature_server.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

LiteratureHardware Fp16Hardware() {
  return {.tensor_rates = {{model::Format::kFp16, 9.89e14}},
          .hbm_bytes_per_second = 3.35e12};
}

// One head of size 128 over N positions that all see each other.
v1::EstimateKernelResponse Attention(int positions, bool unfused) {
  return Ask(Fp16Hardware(), absl::StrCat(
                                 R"(target {
      precision { weights: "fp16" activations: "fp16" kv_cache: "fp16" }
      unfused_attention: )",
                                 unfused ? "true" : "false", R"(
    }
    attention {
      forward_pass { groups { role: ROLE_PREFILL request_count: 1
                              new_token_count: )",
                                 positions, R"( } }
      attention { query_head_count: 1
                  grouped_query { kv_head_count: 1 head_size: 128 } }
      full: true
    })"));
}

// Elements of two bytes that go through memory. The write of keys and values to
// the cache is not part of the literature's count.
double Moves(const v1::EstimateKernelResponse& response) {
  const v1::Work& work = response.ops(0).work();
  return (work.activation_read_bytes() + work.activation_write_bytes()) / 2;
}

TEST(Literature, UnfusedAttentionMovesScores) {
  constexpr double kN = 4096;
  constexpr double kD = 128;
  const double fused = Moves(Attention(4096, false));
  const double unfused = Moves(Attention(4096, true));
  EXPECT_EQ(fused, 4 * kN * kD);
  EXPECT_EQ(unfused, 4 * kN * kN + 4 * kN * kD);
  EXPECT_NEAR(unfused / fused, 33, 1e-9);
  EXPECT_NEAR((unfused - fused) / unfused, 0.97, 0.005);
}

TEST(Literature, OneScoreMatrixOfALongContext) {
  // Scores and their softmax are each written and read: four matrices.
  const double matrix =
      2 * (Moves(Attention(131072, true)) - Moves(Attention(131072, false))) /
      4;
  EXPECT_NEAR(matrix / 1e9, 34.36, 0.005);
  EXPECT_EQ(matrix, 32.0 * 1024 * 1024 * 1024);
}

v1::EstimateKernelResponse Add(int fused_operations) {
  return Ask(Fp16Hardware(),
             absl::StrCat(R"(target { precision { activations: "fp16" } }
    elementwise { operation: "add" row_count: 1000 column_count: 1000
                  fused_operation_count: )",
                          fused_operations, " }"));
}

TEST(Literature, TwoFusedElementwiseOperations) {
  constexpr double kElements = 1e6;
  const auto one = Add(0);
  const auto fused = Add(1);
  // Apart: 4N bytes each, 8N in all; together 4N.
  EXPECT_EQ(2 * Bytes(one), 8 * kElements);
  EXPECT_EQ(Bytes(fused), 4 * kElements);
  EXPECT_EQ(one.arithmetic_intensity_flops_per_byte(), 0.25);
  EXPECT_EQ(fused.arithmetic_intensity_flops_per_byte(), 0.5);
  EXPECT_NEAR(2 * one.time_seconds() / fused.time_seconds(), 2, 1e-9);
}

// Recompute pays when Q_saved / B_mem > F_re / P_compute. A matrix of N
// elements that is written and read back moves 4N bytes; making it again from
// an inner size of k takes 2Nk operations: it pays up to k = 2 P / B = 590.4.
TEST(Literature, RecomputePaysUpToAnInnerSize) {
  const auto request = [](const std::string& kernel) {
    return "target { precision { weights: \"fp16\" activations: \"fp16\" } } " +
           kernel;
  };
  const double kept =
      Busy(Ask(Fp16Hardware(),
               request("elementwise { operation: \"add\" row_count: 4096 "
                       "column_count: 4096 }")),
           "hbm");
  EXPECT_NEAR(kept, 4.0 * 4096 * 4096 / 3.35e12, 1e-12);
  const auto remade = [&](int inner) {
    return Busy(
        Ask(Fp16Hardware(),
            request(absl::StrCat("gemm { m: 4096 n: 4096 k: ", inner, " }"))),
        "tensor");
  };
  EXPECT_GT(kept, remade(590));
  EXPECT_LT(kept, remade(591));
}

// T_total = compute + memory + launch + synchronisation + communication: each
// has its own row, and what they are charged adds up to the time.
TEST(Literature, EveryPartOfATimeIsReported) {
  TestServer server;
  const auto stub = v1::EstimationService::NewStub(server.channel());
  std::set<std::string> reported;
  for (const char* kernel :
       {"gemm { m: 64 n: 4096 k: 4096 }",
        "collective { collective: \"all_reduce\" message_bytes: 1e7 "
        "rank_count: 8 }"}) {
    v1::EstimateKernelResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status = stub->EstimateKernel(
        &context,
        Parse<v1::EstimateKernelRequest>(absl::StrCat(
            "target { hardware_profile: \"hardwareProfiles/h100-sxm\" } ",
            kernel)),
        &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    double sum = 0;
    for (const auto& time : response.ops(0).resource_times()) {
      if (time.attributed_seconds() > 0) reported.insert(time.resource());
      sum += time.attributed_seconds();
    }
    EXPECT_NEAR(sum, response.time_seconds(), 1e-12);
  }
  EXPECT_THAT(reported, ::testing::IsSupersetOf(
                            {"tensor", "hbm", "launch", "sync", "nvlink"}));
}

}  // namespace
}  // namespace mansard::testing
