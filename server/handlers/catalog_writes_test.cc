// Writes of graphs and profiles over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/catalog_calls.h"
#include "tests/support/tiny_graph.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Stub = v1::CatalogService::Stub;

class CatalogWritesTest : public ::testing::Test {
 protected:
  template <class Request, class Response>
  Called<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                     const Request&, Response*),
                        const Request& request) {
    return CallOf(server_.catalog(), method, request);
  }
  Called<v1::ModelGraph> Create(const std::string& id,
                                const std::string& more = "") {
    auto request = Parse<v1::CreateModelGraphRequest>(more);
    request.set_model_graph_id(id);
    request.mutable_model_graph()->MergeFrom(Parse<v1::ModelGraph>(kTinyGraph));
    return Call(&Stub::CreateModelGraph, request);
  }
  Called<v1::ModelGraph> Update(const std::string& text,
                                bool with_tiny = true) {
    auto request = Parse<v1::UpdateModelGraphRequest>(text);
    if (with_tiny) {
      v1::ModelGraph whole = Parse<v1::ModelGraph>(kTinyGraph);
      whole.MergeFrom(request.model_graph());
      *request.mutable_model_graph() = whole;
    }
    return Call(&Stub::UpdateModelGraph, request);
  }
  Called<v1::ModelGraph> Get(const std::string& name) {
    v1::GetModelGraphRequest request;
    request.set_name(name);
    return Call(&Stub::GetModelGraph, request);
  }
  Called<google::protobuf::Empty> Delete(const std::string& name,
                                         const std::string& etag = "") {
    v1::DeleteModelGraphRequest request;
    request.set_name(name);
    request.set_etag(etag);
    return Call(&Stub::DeleteModelGraph, request);
  }
  Called<v1::HardwareProfile> GetProfile(const std::string& name) {
    v1::GetHardwareProfileRequest request;
    request.set_name(name);
    return Call(&Stub::GetHardwareProfile, request);
  }

  TestServer server_;
};

TEST_F(CatalogWritesTest, CreatedIsAnsweredAndGot) {
  const auto created = Create("own");
  ASSERT_TRUE(created.ok()) << created.facts();
  EXPECT_EQ(created.response.name(), "modelGraphs/own");
  EXPECT_THAT(created.response.etag(), MatchesRegex("\"[0-9a-f]{16}\""));
  EXPECT_THAT(created.response.revision_id(), MatchesRegex("[0-9a-f]{12}"));
  EXPECT_TRUE(created.response.has_create_time());
  EXPECT_GT(created.response.size().parameter_count(), 0);
  const auto got = Get("modelGraphs/own");
  ASSERT_TRUE(got.ok()) << got.facts();
  EXPECT_EQ(got.response.SerializeAsString(),
            created.response.SerializeAsString());
  // And estimated at once.
  v1::EstimateResponse estimate;
  const auto status = server_.Estimate(
      Parse<v1::EstimateRequest>(R"pb(
        target {
          model_graph: "modelGraphs/own"
          hardware_profile: "hardwareProfiles/h100-sxm"
        }
        forward_pass {
          groups { role: ROLE_DECODE request_count: 1 new_token_count: 1 }
        }
      )pb"),
      &estimate);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(estimate.resolution().model_graph_revision(),
            "modelGraphs/own@" + created.response.revision_id());
}

TEST_F(CatalogWritesTest, MistakesAreNamedAllAtOnce) {
  const auto facts = Create("Not An Id",
                            "model_graph { hidden_size: -1 layer_kinds { kind: "
                            "'x' dense { intermediate_size: 3 } } }")
                         .facts();
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  const std::vector<std::string> fields = facts.Fields();
  EXPECT_THAT(fields, ::testing::Contains("model_graph_id"));
  EXPECT_THAT(fields,
              ::testing::Contains(HasSubstr("model_graph.layer_kind_indexes")));
  const auto none =
      Call(&Stub::CreateModelGraph, v1::CreateModelGraphRequest()).facts();
  EXPECT_THAT(none.Fields(), ElementsAre("model_graph", "model_graph_id"));
}

TEST_F(CatalogWritesTest, WhatExistsIsNotCreated) {
  ASSERT_TRUE(Create("own").ok());
  for (const char* id : {"own", "llama-3.1-8b"}) {
    const auto facts = Create(id).facts();
    EXPECT_EQ(facts.code, grpc::StatusCode::ALREADY_EXISTS) << facts;
    EXPECT_EQ(facts.reason, "RESOURCE_ALREADY_EXISTS");
    EXPECT_EQ(facts.resource_name, absl::StrCat("modelGraphs/", id));
  }
}

TEST_F(CatalogWritesTest, UpdatesMakeRevisions) {
  const v1::ModelGraph first = Create("own").response;
  const auto second =
      Update("model_graph { name: 'modelGraphs/own' vocabulary_size: 2000 }");
  ASSERT_TRUE(second.ok()) << second.facts();
  EXPECT_EQ(second.response.vocabulary_size(), 2000);
  EXPECT_NE(second.response.revision_id(), first.revision_id());
  EXPECT_NE(second.response.etag(), first.etag());
  EXPECT_EQ(second.response.create_time().SerializeAsString(),
            first.create_time().SerializeAsString());
  const std::string old_name = "modelGraphs/own@" + first.revision_id();
  const auto old = Get(old_name);
  ASSERT_TRUE(old.ok()) << old.facts();
  EXPECT_EQ(old.response.name(), old_name);
  EXPECT_EQ(old.response.vocabulary_size(), 1000);
  EXPECT_EQ(old.response.etag(), first.etag());
  EXPECT_TRUE(Get("modelGraphs/own@" + second.response.revision_id()).ok());
  EXPECT_EQ(Get("modelGraphs/own@000000000000").facts().reason,
            "REVISION_NOT_FOUND");
  EXPECT_EQ(Get("modelGraphs/own@now").facts().reason, "INVALID_REQUEST");
}

TEST_F(CatalogWritesTest, TheSameAgainChangesNothing) {
  const v1::ModelGraph first = Create("own").response;
  const auto again = Update("model_graph { name: 'modelGraphs/own' }");
  ASSERT_TRUE(again.ok()) << again.facts();
  EXPECT_EQ(again.response.SerializeAsString(), first.SerializeAsString());
}

TEST_F(CatalogWritesTest, MasksTakeOverTheirFieldsAlone) {
  ASSERT_TRUE(Create("own").ok());
  const auto masked = Update(
      "model_graph { name: 'modelGraphs/own' display_name: 'New' } "
      "update_mask { paths: 'display_name' paths: 'source' }",
      /*with_tiny=*/false);
  ASSERT_TRUE(masked.ok()) << masked.facts();
  EXPECT_EQ(masked.response.display_name(), "New");
  EXPECT_EQ(masked.response.source(), "");
  EXPECT_EQ(masked.response.hidden_size(), 64);
  const auto facts = Update(
                         "model_graph { name: 'modelGraphs/own' } update_mask "
                         "{ paths: 'dislay_name' paths: 'etag' paths: "
                         "'size.parameter_count' }")
                         .facts();
  EXPECT_THAT(facts.Fields(),
              ElementsAre("update_mask.paths[0]", "update_mask.paths[1]",
                          "update_mask.paths[2]"));
  EXPECT_THAT(facts.message, HasSubstr("did you mean \"display_name\"?"));
}

TEST_F(CatalogWritesTest, EtagsGuardUpdatesAndDeletes) {
  const v1::ModelGraph first = Create("own").response;
  auto facts =
      Update("model_graph { name: 'modelGraphs/own' etag: '\"x\"' }").facts();
  EXPECT_EQ(facts.code, grpc::StatusCode::ABORTED) << facts;
  EXPECT_EQ(facts.reason, "ETAG_MISMATCH");
  EXPECT_EQ(facts.metadata.at("etag"), first.etag());
  EXPECT_EQ(Delete("modelGraphs/own", "\"x\"").facts().reason, "ETAG_MISMATCH");
  EXPECT_TRUE(Delete("modelGraphs/own", first.etag()).ok());
  EXPECT_EQ(Get("modelGraphs/own").facts().reason, "MODEL_GRAPH_NOT_FOUND");
}

TEST_F(CatalogWritesTest, MissingOnesAreMadeWhereAllowed) {
  EXPECT_EQ(Update("model_graph { name: 'modelGraphs/own' }").facts().reason,
            "MODEL_GRAPH_NOT_FOUND");
  const auto made =
      Update("model_graph { name: 'modelGraphs/own' } allow_missing: true");
  ASSERT_TRUE(made.ok()) << made.facts();
  EXPECT_TRUE(Get("modelGraphs/own").ok());
}

TEST_F(CatalogWritesTest, ValidatingAloneKeepsNothing) {
  const auto checked = Create("own", "validate_only: true");
  ASSERT_TRUE(checked.ok()) << checked.facts();
  EXPECT_EQ(checked.response.name(), "modelGraphs/own");
  EXPECT_FALSE(Get("modelGraphs/own").ok());
}

TEST_F(CatalogWritesTest, WhatComesWithTheServerStays) {
  EXPECT_EQ(Delete("modelGraphs/llama-3.1-8b").facts().reason,
            "RESOURCE_READ_ONLY");
  const v1::ModelGraph shipped = Get("modelGraphs/llama-3.1-8b").response;
  EXPECT_FALSE(shipped.has_create_time());
  ASSERT_TRUE(Update("model_graph { name: 'modelGraphs/llama-3.1-8b' }").ok());
  EXPECT_EQ(Get("modelGraphs/llama-3.1-8b").response.hidden_size(), 64);
  // Also as an earlier revision.
  EXPECT_EQ(Get("modelGraphs/llama-3.1-8b@" + shipped.revision_id())
                .response.hidden_size(),
            4096);
  ASSERT_TRUE(Delete("modelGraphs/llama-3.1-8b").ok());
  EXPECT_EQ(Get("modelGraphs/llama-3.1-8b").response.SerializeAsString(),
            shipped.SerializeAsString());
}

TEST_F(CatalogWritesTest, ProfilesAreLikewise) {
  v1::HardwareProfile profile =
      GetProfile("hardwareProfiles/h100-pcie").response;
  v1::CreateHardwareProfileRequest create;
  create.set_hardware_profile_id("mine");
  *create.mutable_hardware_profile() = profile;
  const auto created = Call(&Stub::CreateHardwareProfile, create);
  ASSERT_TRUE(created.ok()) << created.facts();
  EXPECT_EQ(created.response.revision_id(), profile.revision_id());
  std::vector<std::string> revisions = {created.response.revision_id()};
  v1::UpdateHardwareProfileRequest update;
  update.mutable_hardware_profile()->set_name("hardwareProfiles/mine");
  for (double watts : {300.0, 310.0, 320.0}) {
    *update.mutable_hardware_profile()->mutable_device() = profile.device();
    update.mutable_hardware_profile()
        ->mutable_device()
        ->mutable_board_power_watts()
        ->set_value(watts);
    *update.mutable_update_mask() =
        Parse<google::protobuf::FieldMask>("paths: 'device'");
    const auto updated = Call(&Stub::UpdateHardwareProfile, update);
    ASSERT_TRUE(updated.ok()) << updated.facts();
    EXPECT_EQ(updated.response.kernel_stacks_size(),
              profile.kernel_stacks_size());
    revisions.push_back(updated.response.revision_id());
  }
  std::vector<std::string> listed;
  v1::ListHardwareProfileRevisionsRequest list;
  list.set_parent("hardwareProfiles/mine");
  list.set_page_size(3);
  do {
    const auto page = Call(&Stub::ListHardwareProfileRevisions, list);
    ASSERT_TRUE(page.ok()) << page.facts();
    for (const auto& one : page.response.hardware_profile_revisions()) {
      listed.push_back(one.revision_id());
      EXPECT_EQ(one.name(), "hardwareProfiles/mine@" + one.revision_id());
    }
    list.set_page_token(page.response.next_page_token());
  } while (!list.page_token().empty());
  EXPECT_EQ(listed,
            std::vector<std::string>(revisions.rbegin(), revisions.rend()));
  EXPECT_TRUE(GetProfile("hardwareProfiles/mine@" + revisions[1]).ok());
}

TEST_F(CatalogWritesTest, RevisionsEndWithWhatLiesBeneath) {
  v1::UpdateHardwareProfileRequest update;
  update.mutable_hardware_profile()->set_name("hardwareProfiles/h100-pcie");
  update.mutable_hardware_profile()->set_display_name("Mine");
  *update.mutable_update_mask() =
      Parse<google::protobuf::FieldMask>("paths: 'display_name'");
  ASSERT_TRUE(Call(&Stub::UpdateHardwareProfile, update).ok());
  v1::ListHardwareProfileRevisionsRequest list;
  list.set_parent("hardwareProfiles/h100-pcie");
  auto all = Call(&Stub::ListHardwareProfileRevisions, list);
  ASSERT_TRUE(all.ok()) << all.facts();
  ASSERT_EQ(all.response.hardware_profile_revisions_size(), 2);
  EXPECT_EQ(all.response.hardware_profile_revisions(0).display_name(), "Mine");
  EXPECT_FALSE(all.response.hardware_profile_revisions(1).has_create_time());
  list.set_page_size(1);
  all = Call(&Stub::ListHardwareProfileRevisions, list);
  EXPECT_FALSE(all.response.next_page_token().empty());
  list.set_page_token(all.response.next_page_token());
  all = Call(&Stub::ListHardwareProfileRevisions, list);
  EXPECT_EQ(all.response.hardware_profile_revisions_size(), 1);
  EXPECT_EQ(all.response.next_page_token(), "");
}

TEST_F(CatalogWritesTest, TheMetricsFollow) {
  const auto line = [this](const std::string& kind) {
    const std::string body =
        HttpGet(server_.metrics_address(), "/metrics").body;
    const std::string name =
        absl::StrCat("mansard_catalog_resources{kind=\"", kind, "\"} ");
    return std::stoi(body.substr(body.find(name) + name.size()));
  };
  const int before = line("model_graph");
  ASSERT_TRUE(Create("own").ok());
  EXPECT_EQ(line("model_graph"), before + 1);
  EXPECT_EQ(line("engine"), 0);
}

}  // namespace
}  // namespace mansard::testing
