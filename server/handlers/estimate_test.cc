// EstimationService.Estimate over real gRPC: what an answer holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/version.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr char kDecode[] = R"pb(
  target {
    model_graph: "modelGraphs/llama-3.1-8b"
    hardware_profile: "hardwareProfiles/h100-sxm"
    parallelism { tensor_size: 2 }
  }
  forward_pass {
    groups {
      role: ROLE_DECODE
      request_count: 16
      new_token_count: 1
      prior_token_count: 1023
    }
  }
)pb";

class EstimateTest : public ::testing::Test {
 protected:
  // `more`: merged into the request.
  static v1::EstimateRequest With(const std::string& more) {
    v1::EstimateRequest request = Parse<v1::EstimateRequest>(kDecode);
    request.MergeFrom(Parse<v1::EstimateRequest>(more));
    return request;
  }
  v1::EstimateResponse Estimate(const std::string& more = "") {
    v1::EstimateResponse response;
    const grpc::Status status = server_.Estimate(With(more), &response);
    EXPECT_TRUE(status.ok()) << FactsOf(status);
    return response;
  }

  TestServer server_;
};

TEST_F(EstimateTest, TheScalarsAreConsistent) {
  const v1::EstimateResponse response = Estimate();
  const v1::PhaseEstimate& estimate = response.estimate();
  EXPECT_EQ(estimate.phase(), "decode");
  EXPECT_GT(estimate.floor_seconds(), 0);
  EXPECT_LE(estimate.floor_seconds(), estimate.overlapped_seconds());
  EXPECT_LE(estimate.overlapped_seconds(), estimate.time_seconds());
  EXPECT_LE(estimate.time_seconds(), estimate.serial_seconds());
  EXPECT_LE(estimate.p10_seconds(), estimate.time_seconds());
  EXPECT_GE(estimate.p90_seconds(), estimate.time_seconds());
  EXPECT_NEAR(estimate.output_tokens_per_second() * estimate.time_seconds(), 16,
              1e-9);
  EXPECT_EQ(estimate.draft_seconds(), 0);
  EXPECT_EQ(estimate.target_model_seconds(), estimate.time_seconds());
  EXPECT_FALSE(estimate.has_expected_token_count_per_decode());
  EXPECT_NE(estimate.tier(), v1::TIER_UNSPECIFIED);
  double shares = 0;
  double largest = 0;
  v1::Bound bound = v1::BOUND_UNSPECIFIED;
  for (const auto& share : estimate.bound_shares()) {
    shares += share.time_ratio();
    if (share.time_ratio() > largest) {
      largest = share.time_ratio();
      bound = share.bound();
    }
  }
  EXPECT_EQ(estimate.bound_shares_size(), 4);
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(estimate.bound(), bound);
}

// Eight requests, 1 + 0.5 + 0.25 tokens each; the ops say what drafting takes.
TEST_F(EstimateTest, DraftingStandsApart) {
  v1::EstimateResponse response;
  const grpc::Status status = server_.Estimate(
      Parse<v1::EstimateRequest>(R"pb(
        target {
          model_graph: "modelGraphs/mimo-7b"
          hardware_profile: "hardwareProfiles/h100-sxm"
        }
        forward_pass {
          groups {
            role: ROLE_DECODE
            request_count: 8
            new_token_count: 3
            prior_token_count: 1021
          }
          drafting { draft_token_count: 2 acceptance_rate: 0.5 }
        }
        read_mask { paths: "estimate.ops" }
      )pb"),
      &response);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  const v1::PhaseEstimate& estimate = response.estimate();
  double drafting = 0;
  for (const v1::OpEstimate& op : estimate.ops()) {
    if (op.op().rfind("draft.", 0) != 0) continue;
    drafting += op.repeat_count() * op.time_seconds();
  }
  EXPECT_GT(drafting, 0);
  EXPECT_NEAR(estimate.draft_seconds(), drafting, 1e-12 * drafting);
  EXPECT_NEAR(estimate.target_model_seconds() + drafting,
              estimate.time_seconds(), 1e-12 * estimate.time_seconds());
  EXPECT_EQ(estimate.expected_token_count_per_decode(), 1.75);
  EXPECT_NEAR(estimate.output_tokens_per_second() * estimate.time_seconds(),
              8 * 1.75, 1e-9);
}

TEST_F(EstimateTest, MemoryIsPerRank) {
  const v1::MemoryFootprint memory = Estimate().memory();
  // 16 requests x 1024 tokens x 32 layers x 2 x 4 heads a rank x 128 x 2 B.
  EXPECT_EQ(memory.kv_cache_bytes(), 1073741824);
  // 8.03e9 parameters x 2 B over two ranks, norms not sharded.
  EXPECT_NEAR(static_cast<double>(memory.weight_bytes()), 8.03e9, 0.01e9);
  EXPECT_TRUE(memory.fits());
  EXPECT_EQ(memory.remedies_size(), 0);
}

TEST_F(EstimateTest, RanksShareRequests) {
  const v1::MemoryFootprint one = Estimate().memory();
  const v1::EstimateResponse two =
      Estimate("target { parallelism { data_size: 2 } }");
  EXPECT_EQ(two.memory().kv_cache_bytes() * 2, one.kv_cache_bytes());
  EXPECT_EQ(two.memory().weight_bytes(), one.weight_bytes());
  EXPECT_EQ(two.memory().max_request_count() / 2, one.max_request_count());
  EXPECT_FALSE(two.estimate().has_pipeline());
  EXPECT_THAT(two.resolution().assumptions(),
              Contains(HasSubstr("4 devices in 1 node")));
}

TEST_F(EstimateTest, APipelineSaysHowItIsFilled) {
  const v1::EstimateResponse response = Estimate(
      "target { parallelism { pipeline_size: 2 micro_batch_count: 4 } }");
  const v1::PhaseEstimate& estimate = response.estimate();
  const auto& pipeline = estimate.pipeline();
  EXPECT_EQ(pipeline.micro_batch_count(), 4);
  ASSERT_EQ(pipeline.stage_seconds_size(), 2);
  // The head is on the last stage.
  EXPECT_EQ(pipeline.slowest_stage_index(), 1);
  EXPECT_GT(pipeline.stage_seconds(1), pipeline.stage_seconds(0));
  EXPECT_NEAR(pipeline.bubble_ratio(), 1.0 / 5, 0.05);
  EXPECT_LT(pipeline.steady_step_seconds(), estimate.time_seconds());
  EXPECT_NEAR(pipeline.steady_output_tokens_per_second() *
                  pipeline.steady_step_seconds(),
              16, 1e-9);
  EXPECT_THAT(response.resolution().assumptions(),
              Contains(HasSubstr("pipeline stages have 16, 16 layers")));
}

// Whole bytes, each rounded.
TEST_F(EstimateTest, MemoryAddsUp) {
  const v1::MemoryFootprint memory = Estimate().memory();
  EXPECT_NEAR(static_cast<double>(memory.budget_bytes()),
              0.9 * static_cast<double>(memory.capacity_bytes()), 1);
  const int64_t fixed = memory.weight_bytes() + memory.weight_padding_bytes() +
                        memory.other_weights_bytes() +
                        memory.workspace_bytes() +
                        memory.communication_bytes() + memory.reserved_bytes();
  EXPECT_NEAR(static_cast<double>(memory.kv_budget_bytes()),
              static_cast<double>(memory.budget_bytes() - fixed), 3);
  EXPECT_NEAR(static_cast<double>(memory.free_bytes()),
              static_cast<double>(memory.budget_bytes() - fixed -
                                  memory.kv_cache_bytes() -
                                  memory.state_bytes() - memory.paging_bytes()),
              3);
  int64_t weights = 0;
  for (const auto& row : memory.weight_classes()) weights += row.bytes();
  EXPECT_EQ(weights, memory.weight_bytes());
  ASSERT_EQ(memory.layer_caches_size(), 1);
  EXPECT_EQ(memory.layer_caches(0).layer_count(), 32);
  EXPECT_EQ(memory.layer_caches(0).bytes_per_token(), 65536);
  EXPECT_EQ(memory.layer_caches(0).kv_cache_bytes(), memory.kv_cache_bytes());
  EXPECT_EQ(memory.kv_token_capacity_count(),
            memory.kv_budget_bytes() / (16 * 65536) * 16);
  EXPECT_EQ(memory.max_request_count(),
            memory.kv_token_capacity_count() / 1024);
  EXPECT_EQ(memory.no_token_reason(), "");
}

TEST_F(EstimateTest, CostlyPartsComeOnlyWhenNamed) {
  const v1::EstimateResponse plain = Estimate();
  EXPECT_EQ(plain.estimate().ops_size(), 0);
  EXPECT_EQ(plain.estimate().waterfall_size(), 0);
  EXPECT_LT(plain.ByteSizeLong(), 2000u);

  const v1::PhaseEstimate ops =
      Estimate("read_mask { paths: 'estimate.ops' }").estimate();
  EXPECT_GT(ops.ops_size(), 10);
  EXPECT_EQ(ops.waterfall_size(), 0);

  const v1::PhaseEstimate waterfall =
      Estimate("read_mask { paths: 'estimate.waterfall' }").estimate();
  EXPECT_EQ(waterfall.ops_size(), 0);
  EXPECT_EQ(waterfall.waterfall_size(), 10);

  for (const char* path : {"estimate", "*"}) {
    const v1::PhaseEstimate all =
        Estimate(std::string("read_mask { paths: '") + path + "' }").estimate();
    EXPECT_GT(all.ops_size(), 10) << path;
    EXPECT_EQ(all.waterfall_size(), 10) << path;
  }
}

TEST_F(EstimateTest, TheWaterfallSumsToTheStep) {
  const v1::PhaseEstimate estimate =
      Estimate("read_mask { paths: 'estimate.waterfall' }").estimate();
  const char* const kRows[] = {"compute", "smem", "l2",     "hbm",  "nvlink",
                               "pcie",    "rdma", "launch", "sync", "host"};
  double exposed = 0;
  double shares = 0;
  for (int i = 0; i < estimate.waterfall_size(); ++i) {
    EXPECT_EQ(estimate.waterfall(i).tier(), kRows[i]);
    exposed += estimate.waterfall(i).exposed_seconds();
    shares += estimate.waterfall(i).share_ratio();
  }
  EXPECT_NEAR(exposed / estimate.time_seconds(), 1, 1e-9);
  EXPECT_NEAR(shares, 1, 1e-9);
  const v1::WaterfallTier& hbm = estimate.waterfall(3);
  EXPECT_GT(hbm.weight_bytes(), 7e9);
  EXPECT_NEAR(hbm.achieved_bytes_per_second() * estimate.time_seconds() /
                  hbm.moved_bytes(),
              1, 1e-9);
}

TEST_F(EstimateTest, OpsAttributeTheirTime) {
  const v1::PhaseEstimate estimate =
      Estimate("read_mask { paths: 'estimate.ops' }").estimate();
  std::vector<std::string> names;
  double total = 0;
  for (const v1::OpEstimate& op : estimate.ops()) {
    names.push_back(op.op());
    total += op.repeat_count() * op.time_seconds();
    double attributed = 0;
    double largest = 0;
    std::string limiting;
    for (const auto& time : op.resource_times()) {
      EXPECT_TRUE(time.busy_seconds() > 0 || time.attributed_seconds() > 0);
      attributed += time.attributed_seconds();
      if (time.attributed_seconds() > largest) {
        largest = time.attributed_seconds();
        limiting = time.resource();
      }
    }
    EXPECT_NEAR(attributed, op.time_seconds(), 1e-12) << op.op();
    EXPECT_EQ(op.limiting_resource(), limiting) << op.op();
    EXPECT_NE(op.bound(), v1::BOUND_UNSPECIFIED) << op.op();
    EXPECT_GE(op.repeat_count(), 1) << op.op();
    EXPECT_LE(op.efficiency_ratio(), 1) << op.op();
    EXPECT_FALSE(op.shape().empty()) << op.op();
    EXPECT_FALSE(op.op_kind().empty()) << op.op();
  }
  EXPECT_NEAR(total / estimate.time_seconds(), 1, 1e-9);
  EXPECT_THAT(names, Contains("layers.dense.qkv_proj"));
  EXPECT_THAT(names, Contains("lm_head"));
}

TEST_F(EstimateTest, TheResolutionSaysWhatWasUsed) {
  const v1::Resolution resolution = Estimate().resolution();
  EXPECT_THAT(resolution.model_graph_revision(),
              MatchesRegex("modelGraphs/llama-3\\.1-8b@[0-9a-f]{12}"));
  EXPECT_THAT(resolution.hardware_profile_revision(),
              MatchesRegex("hardwareProfiles/h100-sxm@[0-9a-f]{12}"));
  EXPECT_EQ(resolution.kernel_stack(), "generic");
  EXPECT_EQ(resolution.fabric(), "hgx-nvlink4-400g");
  EXPECT_THAT(resolution.content_hash(), MatchesRegex("[0-9a-f]{12}"));
  EXPECT_EQ(resolution.server_version(), server::kVersion);
  EXPECT_THAT(resolution.assumptions(), Contains(HasSubstr("orkspace")));
}

TEST_F(EstimateTest, TheHashFollowsEveryInput) {
  const std::string hash = Estimate().resolution().content_hash();
  EXPECT_EQ(Estimate().resolution().content_hash(), hash);
  for (const char* more :
       {"target { parallelism { tensor_size: 4 } }",
        "target { parallelism { pipeline_size: 2 } }",
        "target { parallelism { pipeline_size: 2 micro_batch_count: 2 } }",
        "target { parallelism { data_size: 2 } }",
        "target { parallelism { context_size: 2 } }",
        "target { parallelism { node_count: 2 } }",
        "target { precision { weights: 'fp8' } }",
        "target { kv_head_count: 4 }", "target { fabric: 'hgx-nvlink4-200g' }",
        "target { hardware_profile: 'hardwareProfiles/h200-sxm' }",
        "target { model_graph: 'modelGraphs/llama-3.1-70b' }",
        "forward_pass { groups { role: ROLE_PREFILL request_count: 1 "
        "new_token_count: 8 } }"}) {
    EXPECT_NE(Estimate(more).resolution().content_hash(), hash) << more;
  }
  // What does not change the numbers does not change the hash.
  EXPECT_EQ(Estimate("read_mask { paths: '*' }").resolution().content_hash(),
            hash);
}

TEST_F(EstimateTest, AnInlineTargetGivesTheCatalogsNumbers) {
  const double by_name = Estimate().estimate().time_seconds();
  grpc::ClientContext graph_context;
  v1::EstimateRequest request = Parse<v1::EstimateRequest>(kDecode);
  v1::ModelGraph graph;
  ASSERT_TRUE(server_.catalog()
                  .GetModelGraph(&graph_context,
                                 Parse<v1::GetModelGraphRequest>(
                                     "name: 'modelGraphs/llama-3.1-8b'"),
                                 &graph)
                  .ok());
  grpc::ClientContext profile_context;
  v1::HardwareProfile profile;
  ASSERT_TRUE(server_.catalog()
                  .GetHardwareProfile(&profile_context,
                                      Parse<v1::GetHardwareProfileRequest>(
                                          "name: 'hardwareProfiles/h100-sxm'"),
                                      &profile)
                  .ok());
  // As the catalog sends them: OUTPUT ONLY fields are ignored.
  *request.mutable_target()->mutable_inline_model_graph() = graph;
  *request.mutable_target()->mutable_inline_hardware_profile() = profile;
  v1::EstimateResponse response;
  const grpc::Status status = server_.Estimate(request, &response);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(response.estimate().time_seconds(), by_name);
  EXPECT_THAT(response.resolution().model_graph_revision(),
              MatchesRegex("inline@[0-9a-f]{12}"));
  EXPECT_THAT(response.resolution().hardware_profile_revision(),
              MatchesRegex("inline@[0-9a-f]{12}"));
}

TEST_F(EstimateTest, WhatDoesNotFitIsAnAnswerWithAWarning) {
  const v1::EstimateResponse response = Estimate(
      "target { model_graph: 'modelGraphs/llama-3.1-70b' "
      "hardware_profile: 'hardwareProfiles/l40s' }");
  EXPECT_FALSE(response.memory().fits());
  EXPECT_LT(response.memory().free_bytes(), 0);
  EXPECT_EQ(response.memory().kv_budget_bytes(), 0);
  EXPECT_EQ(response.memory().no_token_reason(),
            "the weights alone exceed the budget");
  EXPECT_THAT(response.resolution().warnings(),
              Contains(HasSubstr("does not fit")));
}

TEST_F(EstimateTest, TheInProcessChannelGivesTheSameAnswer) {
  server::ServerOptions options = TestOptions();
  options.listen_address = "";
  options.metrics_address = "";
  auto server = server::Server::Create(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->port(), 0);
  EXPECT_EQ((*server)->metrics_port(), 0);
  const auto stub =
      v1::EstimationService::NewStub((*server)->InProcessChannel());
  grpc::ClientContext context;
  v1::EstimateResponse response;
  const grpc::Status status =
      stub->Estimate(&context, Parse<v1::EstimateRequest>(kDecode), &response);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(response.SerializeAsString(), Estimate().SerializeAsString());
}

TEST_F(EstimateTest, ChangesOnlyWhereAskedFor) {
  const v1::EstimateResponse plain = Estimate();
  EXPECT_FALSE(plain.has_what_if());
  EXPECT_EQ(plain.sensitivities_size(), 0);

  const v1::EstimateResponse asked = Estimate(R"pb(
    read_mask { paths: "what_if" paths: "sensitivities" }
    what_if {
      hardware_profiles: "hardwareProfiles/h200-sxm"
      device_hour_prices { key: "hardwareProfiles/h200-sxm" value: 3.6 }
    }
  )pb");
  EXPECT_EQ(asked.sensitivities_size(), 12);
  EXPECT_EQ(asked.what_if().as_is().time_seconds(),
            plain.estimate().time_seconds());
  EXPECT_FALSE(asked.what_if().as_is().has_cost_per_million_tokens());
  int priced = 0;
  for (const v1::WhatIf& change : asked.what_if().changes()) {
    if (!change.has_cost_per_million_tokens()) continue;
    ++priced;
    EXPECT_EQ(change.kind(), "hardware");
    EXPECT_NEAR(change.cost_per_million_tokens(),
                2 * 1000 * change.seconds_per_token(), 1e-9);
  }
  EXPECT_EQ(priced, 1);
}

TEST_F(EstimateTest, OverlapIsPartOfTheContentHash) {
  const v1::EstimateResponse plain = Estimate();
  const v1::EstimateResponse overlapped =
      Estimate("target { overlap { kind: \"two-batch\" } }");
  EXPECT_GT(overlapped.estimate().hidden_seconds(), 0);
  EXPECT_NE(overlapped.resolution().content_hash(),
            plain.resolution().content_hash());
  EXPECT_EQ(Estimate("target { overlap { kind: \"none\" } }")
                .resolution()
                .content_hash(),
            plain.resolution().content_hash());
}

TEST_F(EstimateTest, RefusesChoicesThatBreakRules) {
  const struct {
    const char* request;
    const char* field;
  } kCases[] = {
      {"what_if { hardware_profiles: \"hardwareProfiles/h200-sxm\" }",
       "what_if"},
      {"read_mask { paths: \"what_if\" } what_if { hardware_profiles: \"x\" }",
       "what_if.hardware_profiles[0]"},
      {"read_mask { paths: \"what_if\" } "
       "what_if { device_hour_prices { key: \"\" value: -1 } }",
       "what_if.device_hour_prices[\"\"]"},
      {"target { overlap { kind: \"three-batch\" } }", "target.overlap.kind"},
      {"target { overlap { multiprocessor_count: 3 } }", "target.overlap.kind"},
  };
  for (const auto& test : kCases) {
    v1::EstimateResponse response;
    const grpc::Status status = server_.Estimate(With(test.request), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(FactsOf(status).Fields(), ::testing::ElementsAre(test.field));
  }
}

}  // namespace
}  // namespace mansard::testing
