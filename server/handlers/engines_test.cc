// Engines over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/catalog_calls.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Stub = v1::CatalogService::Stub;

constexpr char kEngine[] = R"pb(
  target {
    model_graph: "modelGraphs/llama-3.1-8b"
    hardware_profile: "hardwareProfiles/h100-sxm"
  }
)pb";
constexpr char kDecode[] =
    "forward_pass { groups { role: ROLE_DECODE request_count: 8 "
    "new_token_count: 1 prior_token_count: 1000 } }";

class EnginesTest : public ::testing::Test {
 protected:
  template <class Request, class Response>
  Called<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                     const Request&, Response*),
                        const Request& request) {
    return CallOf(server_.catalog(), method, request);
  }
  Called<v1::Engine> Create(const std::string& id,
                            const std::string& more = "") {
    v1::CreateEngineRequest request;
    request.set_engine_id(id);
    *request.mutable_engine() =
        Parse<v1::Engine>(absl::StrCat(kEngine, "\n", more));
    return Call(&Stub::CreateEngine, request);
  }
  Called<v1::Engine> Update(const std::string& text) {
    return Call(&Stub::UpdateEngine, Parse<v1::UpdateEngineRequest>(text));
  }
  Called<v1::Engine> Get(const std::string& name) {
    v1::GetEngineRequest request;
    request.set_name(name);
    return Call(&Stub::GetEngine, request);
  }

  TestServer server_;
};

TEST_F(EnginesTest, CreatedIsResolved) {
  const auto created = Create("prod-a");
  ASSERT_TRUE(created.ok()) << created.facts();
  EXPECT_EQ(created.response.name(), "engines/prod-a");
  EXPECT_THAT(created.response.resolution().engine_revision(),
              "engines/prod-a@" + created.response.revision_id());
  EXPECT_FALSE(created.response.resolution().content_hash().empty());
  EXPECT_EQ(created.response.resolution().kernel_stack(), "generic");
  // 80 GB less 16 GB of weights at 131,072 B a token: several 100,000.
  EXPECT_GT(created.response.kv_token_capacity_count(), 300'000);
  EXPECT_LT(created.response.kv_token_capacity_count(), 520'000);
  EXPECT_GT(created.response.request_capacity_count(), 1000);
  const auto got = Get("engines/prod-a");
  EXPECT_EQ(got.response.SerializeAsString(),
            created.response.SerializeAsString());
}

TEST_F(EnginesTest, AnswersAsItsTarget) {
  const auto created =
      Create("prod-a", "target { parallelism { tensor_size: 2 } }");
  ASSERT_TRUE(created.ok()) << created.facts();
  v1::EstimateResponse by_target;
  auto status =
      server_.Estimate(Parse<v1::EstimateRequest>(absl::StrCat(
                           "target { parallelism { tensor_size: 2 } ",
                           "model_graph: 'modelGraphs/llama-3.1-8b' "
                           "hardware_profile: 'hardwareProfiles/h100-sxm' } ",
                           kDecode)),
                       &by_target);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  v1::EstimateResponse by_engine;
  status = server_.Estimate(Parse<v1::EstimateRequest>(absl::StrCat(
                                "engine: 'engines/prod-a' ", kDecode)),
                            &by_engine);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(by_engine.resolution().engine_revision(),
            created.response.resolution().engine_revision());
  by_engine.mutable_resolution()->clear_engine_revision();
  EXPECT_EQ(by_engine.SerializeAsString(), by_target.SerializeAsString());

  v1::BatchEstimateRequest batch;
  *batch.add_requests() = Parse<v1::EstimateRequest>(
      absl::StrCat("engine: 'engines/prod-a' ", kDecode));
  v1::BatchEstimateResponse answers;
  status = server_.BatchEstimate(batch, &answers);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(answers.responses(0).estimate().time_seconds(),
            by_target.estimate().time_seconds());
}

TEST_F(EnginesTest, LimitsChangeTheMemory) {
  const v1::Engine plain = Create("plain").response;
  const auto half = Create("half",
                           "limits { memory_utilization_ratio: 0.5 "
                           "max_batched_token_count: 2048 }");
  ASSERT_TRUE(half.ok()) << half.facts();
  EXPECT_LT(half.response.kv_token_capacity_count(),
            plain.kv_token_capacity_count());
  EXPECT_NE(half.response.resolution().content_hash(),
            plain.resolution().content_hash());
  v1::EstimateResponse estimate;
  ASSERT_TRUE(server_
                  .Estimate(Parse<v1::EstimateRequest>(absl::StrCat(
                                "engine: 'engines/half' ", kDecode)),
                            &estimate)
                  .ok());
  EXPECT_NEAR(static_cast<double>(estimate.memory().budget_bytes()),
              0.5 * static_cast<double>(estimate.memory().capacity_bytes()), 1);
  const auto own =
      Create("own", "limits { kv_token_capacity_count: 64000 }").response;
  EXPECT_EQ(own.kv_token_capacity_count(), 64000);
  EXPECT_LE(own.request_capacity_count(), 64000 / 16);
}

TEST_F(EnginesTest, MistakesAreNamedAllAtOnce) {
  const auto facts =
      Create("Bad Id",
             "target { kv_transfer { tier: 'rdma' } parallelism { tensor_size: "
             "3 } } limits { memory_utilization_ratio: 1.5 "
             "max_sequence_count: -1 max_batched_token_count: 1000001 } role: "
             "77 scheduling: 55")
          .facts();
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(
      facts.Fields(),
      ElementsAre("engine.limits.max_batched_token_count",
                  "engine.limits.max_sequence_count",
                  "engine.limits.memory_utilization_ratio", "engine.role",
                  "engine.scheduling", "engine.target.kv_transfer",
                  "engine.target.parallelism.tensor_size", "engine_id"));
  v1::CreateEngineRequest inline_graph;
  inline_graph.set_engine_id("a");
  *inline_graph.mutable_engine() = Parse<v1::Engine>(kEngine);
  inline_graph.mutable_engine()
      ->mutable_target()
      ->mutable_inline_hardware_profile();
  EXPECT_THAT(Call(&Stub::CreateEngine, inline_graph).facts().Fields(),
              ::testing::Contains("engine.target.inline_hardware_profile"));
}

TEST_F(EnginesTest, UnknownNamesAreNotFound) {
  EXPECT_EQ(
      Create("a", "target { model_graph: 'modelGraphs/lama' }").facts().reason,
      "MODEL_GRAPH_NOT_FOUND");
  ASSERT_TRUE(Create("prod-a").ok());
  ErrorFacts facts = Get("engines/prod-b").facts();
  EXPECT_EQ(facts.reason, "ENGINE_NOT_FOUND");
  EXPECT_EQ(facts.resource_name, "engines/prod-b");
  EXPECT_THAT(facts.message, HasSubstr("did you mean \"prod-a\"?"));
  v1::EstimateResponse response;
  facts = FactsOf(server_.Estimate(Parse<v1::EstimateRequest>(absl::StrCat(
                                       "engine: 'engines/prod-b' ", kDecode)),
                                   &response));
  EXPECT_EQ(facts.reason, "ENGINE_NOT_FOUND") << facts;
  facts = FactsOf(server_.Estimate(
      Parse<v1::EstimateRequest>(absl::StrCat("engine: 'prod-a' ", kDecode)),
      &response));
  EXPECT_THAT(facts.Fields(), ElementsAre("engine")) << facts;
}

TEST_F(EnginesTest, UpdatesListsAndDeletes) {
  const v1::Engine first = Create("b").response;
  ASSERT_TRUE(Create("a").ok());
  const auto updated = Update(
      "engine { name: 'engines/b' display_name: 'B' limits { "
      "max_sequence_count: 64 } } update_mask { paths: 'limits' }");
  ASSERT_TRUE(updated.ok()) << updated.facts();
  EXPECT_EQ(updated.response.limits().max_sequence_count(), 64);
  EXPECT_EQ(updated.response.display_name(), "");
  EXPECT_NE(updated.response.revision_id(), first.revision_id());
  std::vector<std::string> names;
  v1::ListEnginesRequest list;
  list.set_page_size(1);
  do {
    const auto page = Call(&Stub::ListEngines, list);
    ASSERT_TRUE(page.ok()) << page.facts();
    for (const auto& one : page.response.engines()) names.push_back(one.name());
    list.set_page_token(page.response.next_page_token());
  } while (!list.page_token().empty());
  EXPECT_THAT(names, ElementsAre("engines/a", "engines/b"));
  v1::DeleteEngineRequest remove;
  remove.set_name("engines/b");
  remove.set_etag(first.etag());
  EXPECT_EQ(Call(&Stub::DeleteEngine, remove).facts().reason, "ETAG_MISMATCH");
  remove.set_etag(updated.response.etag());
  EXPECT_TRUE(Call(&Stub::DeleteEngine, remove).ok());
  EXPECT_EQ(Get("engines/b").facts().reason, "ENGINE_NOT_FOUND");
}

TEST_F(EnginesTest, HoldWhatTheyName) {
  v1::HardwareProfile profile =
      Call(&Stub::GetHardwareProfile, Parse<v1::GetHardwareProfileRequest>(
                                          "name: 'hardwareProfiles/h100-pcie'"))
          .response;
  v1::CreateHardwareProfileRequest create;
  create.set_hardware_profile_id("mine");
  *create.mutable_hardware_profile() = profile;
  ASSERT_TRUE(Call(&Stub::CreateHardwareProfile, create).ok());
  ASSERT_TRUE(
      Create("a", "target { hardware_profile: 'hardwareProfiles/mine' }").ok());
  const auto facts = Call(&Stub::DeleteHardwareProfile,
                          Parse<v1::DeleteHardwareProfileRequest>(
                              "name: 'hardwareProfiles/mine'"))
                         .facts();
  EXPECT_EQ(facts.code, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(facts.reason, "RESOURCE_IN_USE") << facts;
  EXPECT_THAT(facts.message, HasSubstr("engines/a"));
  EXPECT_THAT(facts.metadata.at("engines"), "engines/a");
}

}  // namespace
}  // namespace mansard::testing
