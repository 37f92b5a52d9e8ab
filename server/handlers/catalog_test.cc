// CatalogService over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CatalogTest : public ::testing::Test {
 protected:
  // Calls a method of the stub; the context lives as long as the call.
  template <class Request, class Response>
  grpc::Status Call(grpc::Status (v1::CatalogService::Stub::*method)(
                        grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return (server_.catalog().*method)(&context, request, response);
  }
  grpc::Status List(int page_size, const std::string& token,
                    v1::ListHardwareProfilesResponse* response) {
    v1::ListHardwareProfilesRequest request;
    request.set_page_size(page_size);
    request.set_page_token(token);
    response->Clear();
    return Call(&v1::CatalogService::Stub::ListHardwareProfiles, request,
                response);
  }
  grpc::Status Import(const std::string& config,
                      v1::ImportHuggingFaceConfigResponse* response) {
    v1::ImportHuggingFaceConfigRequest request;
    request.set_config_json(config);
    return Call(&v1::CatalogService::Stub::ImportHuggingFaceConfig, request,
                response);
  }

  TestServer server_;
};

TEST_F(CatalogTest, SaysWhoItIsAndWhatItHolds) {
  v1::ServerInfo info;
  grpc::Status status = Call(&v1::CatalogService::Stub::GetServerInfo,
                             v1::GetServerInfoRequest(), &info);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_FALSE(info.server_version().empty());
  v1::ListModelGraphsRequest models;
  models.set_page_size(500);
  v1::ListModelGraphsResponse graphs;
  status = Call(&v1::CatalogService::Stub::ListModelGraphs, models, &graphs);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(info.model_graph_count(), graphs.model_graphs_size());
  v1::ListHardwareProfilesResponse profiles;
  status = List(500, "", &profiles);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(info.hardware_profile_count(), profiles.hardware_profiles_size());
}

TEST_F(CatalogTest, GetsAModelGraph) {
  v1::ModelGraph graph;
  const grpc::Status status =
      Call(&v1::CatalogService::Stub::GetModelGraph,
           Parse<v1::GetModelGraphRequest>("name: 'modelGraphs/llama-3.1-8b'"),
           &graph);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(graph.name(), "modelGraphs/llama-3.1-8b");
  EXPECT_EQ(graph.hidden_size(), 4096);
  EXPECT_EQ(graph.revision_id().size(), 12u);
  // The model card's count.
  EXPECT_EQ(graph.size().parameter_count(), 8030261248);
  // 32 layers x 2 x 8 heads x 128 x 2 B.
  EXPECT_EQ(graph.size().kv_bytes_per_token(), 131072);
}

TEST_F(CatalogTest, GetsAHardwareProfile) {
  v1::HardwareProfile profile;
  const grpc::Status status = Call(
      &v1::CatalogService::Stub::GetHardwareProfile,
      Parse<v1::GetHardwareProfileRequest>("name: 'hardwareProfiles/h100-sxm'"),
      &profile);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(profile.name(), "hardwareProfiles/h100-sxm");
  EXPECT_EQ(profile.revision_id().size(), 12u);
  EXPECT_GE(profile.fabrics_size(), 1);
  EXPECT_GE(profile.kernel_stacks_size(), 1);
}

TEST_F(CatalogTest, UnknownNamesGetTheClosest) {
  v1::ModelGraph graph;
  ErrorFacts facts = FactsOf(
      Call(&v1::CatalogService::Stub::GetModelGraph,
           Parse<v1::GetModelGraphRequest>("name: 'modelGraphs/lama-3.1-8b'"),
           &graph));
  EXPECT_EQ(facts.code, grpc::StatusCode::NOT_FOUND) << facts;
  EXPECT_EQ(facts.reason, "MODEL_GRAPH_NOT_FOUND") << facts;
  EXPECT_EQ(facts.resource_name, "modelGraphs/lama-3.1-8b") << facts;
  EXPECT_THAT(facts.message, HasSubstr("did you mean \"llama-3.1-8b\""));

  v1::HardwareProfile profile;
  facts = FactsOf(Call(
      &v1::CatalogService::Stub::GetHardwareProfile,
      Parse<v1::GetHardwareProfileRequest>("name: 'hardwareProfiles/h100-smx'"),
      &profile));
  EXPECT_EQ(facts.reason, "HARDWARE_PROFILE_NOT_FOUND") << facts;
  EXPECT_EQ(facts.resource_name, "hardwareProfiles/h100-smx") << facts;
  // Nothing is near: all are named.
  facts = FactsOf(Call(&v1::CatalogService::Stub::GetHardwareProfile,
                       Parse<v1::GetHardwareProfileRequest>(
                           "name: 'hardwareProfiles/something-else-entirely'"),
                       &profile));
  EXPECT_THAT(facts.message, HasSubstr("known: a10, a100-pcie-40gb, "));
}

TEST_F(CatalogTest, ANameOfAnotherCollectionIsInvalid) {
  v1::ModelGraph graph;
  const ErrorFacts facts = FactsOf(
      Call(&v1::CatalogService::Stub::GetModelGraph,
           Parse<v1::GetModelGraphRequest>("name: 'hardwareProfiles/h100-sxm'"),
           &graph));
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_THAT(facts.Fields(), ElementsAre("name"));
}

TEST_F(CatalogTest, ListsModelsInOrder) {
  v1::ListModelGraphsResponse response;
  const grpc::Status status = Call(&v1::CatalogService::Stub::ListModelGraphs,
                                   v1::ListModelGraphsRequest(), &response);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  std::vector<std::string> names;
  for (const auto& graph : response.model_graphs()) {
    names.push_back(graph.name());
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  // One page of the default size, as there are more models.
  EXPECT_EQ(names.size(), 50u);
  EXPECT_THAT(names, Contains("modelGraphs/llama-3.1-8b"));
  EXPECT_FALSE(response.next_page_token().empty());
}

TEST_F(CatalogTest, PagesHoldEveryProfileOnce) {
  v1::ListHardwareProfilesResponse response;
  ASSERT_TRUE(List(0, "", &response).ok());
  std::vector<std::string> all;
  for (const auto& profile : response.hardware_profiles()) {
    all.push_back(profile.name());
  }
  ASSERT_GE(all.size(), 3u);
  for (int page_size : {1, 2, 500}) {
    std::vector<std::string> names;
    std::string token;
    do {
      const grpc::Status status = List(page_size, token, &response);
      ASSERT_TRUE(status.ok()) << FactsOf(status);
      EXPECT_LE(response.hardware_profiles_size(), page_size);
      for (const auto& profile : response.hardware_profiles()) {
        names.push_back(profile.name());
      }
      token = response.next_page_token();
    } while (!token.empty() && names.size() <= all.size());
    EXPECT_EQ(names, all) << page_size;
  }
}

TEST_F(CatalogTest, APageSizeMayChangeBetweenPages) {
  v1::ListHardwareProfilesResponse response;
  ASSERT_TRUE(List(1, "", &response).ok());
  ASSERT_TRUE(List(2, response.next_page_token(), &response).ok());
  EXPECT_EQ(response.hardware_profiles_size(), 2);
}

TEST_F(CatalogTest, BadPagesAreRefused) {
  v1::ListHardwareProfilesResponse response;
  EXPECT_THAT(FactsOf(List(-1, "", &response)).Fields(),
              ElementsAre("page_size"));
  EXPECT_THAT(FactsOf(List(-1, "nonsense", &response)).Fields(),
              ElementsAre("page_size", "page_token"));
  // A token of another list.
  v1::ListModelGraphsResponse models;
  ASSERT_TRUE(Call(&v1::CatalogService::Stub::ListModelGraphs,
                   Parse<v1::ListModelGraphsRequest>("page_size: 1"), &models)
                  .ok());
  ASSERT_FALSE(models.next_page_token().empty());
  const ErrorFacts facts =
      FactsOf(List(1, models.next_page_token(), &response));
  EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT) << facts;
  EXPECT_THAT(facts.Fields(), ElementsAre("page_token"));
}

constexpr char kConfig[] = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
  "max_position_embeddings": 2048, "hidden_act": "silu",
  "torch_dtype": "bfloat16", "rms_norm_eps": 1e-5,
  "tie_word_embeddings": false})";

TEST_F(CatalogTest, ImportsAConfigThatCanBeEstimated) {
  v1::ImportHuggingFaceConfigResponse imported;
  grpc::Status status = Import(kConfig, &imported);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(imported.model_graph().hidden_size(), 64);
  EXPECT_TRUE(imported.model_graph().name().empty());
  EXPECT_THAT(imported.ignored_keys(), Contains("rms_norm_eps"));

  auto request = Parse<v1::EstimateRequest>(R"pb(
    target { hardware_profile: "hardwareProfiles/h100-sxm" }
    forward_pass {
      groups { role: ROLE_PREFILL request_count: 1 new_token_count: 100 }
    }
  )pb");
  *request.mutable_target()->mutable_inline_model_graph() =
      imported.model_graph();
  v1::EstimateResponse response;
  status = server_.Estimate(request, &response);
  EXPECT_TRUE(status.ok()) << FactsOf(status);
  EXPECT_EQ(response.estimate().phase(), "prefill");
}

TEST_F(CatalogTest, ImportsReadSideFiles) {
  v1::ImportHuggingFaceConfigRequest request;
  request.set_config_json(kConfig);
  request.set_hf_quant_config_json(R"({"quantization": {
      "quant_algo": "FP8", "kv_cache_quant_algo": "FP8",
      "exclude_modules": ["lm_head", "model.layers.1.self_attn*"]}})");
  request.set_safetensors_index_json(
      R"({"metadata": {"total_size": 9000000}})");
  v1::ImportHuggingFaceConfigResponse imported;
  const auto import = &v1::CatalogService::Stub::ImportHuggingFaceConfig;
  grpc::Status status = Call(import, request, &imported);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  const v1::ModelGraph& graph = imported.model_graph();
  EXPECT_EQ(graph.native_precision().weights(), "fp8-e4m3");
  EXPECT_EQ(graph.native_precision().kv_cache(), "fp8-e4m3");
  ASSERT_EQ(graph.layer_kinds_size(), 2);
  ASSERT_EQ(graph.layer_kinds(1).formats_size(), 2);
  EXPECT_EQ(graph.layer_kinds(1).formats(0).linear_class(), "attention_input");
  EXPECT_EQ(graph.layer_kinds(1).formats(0).weights(), "bf16");
  EXPECT_GT(graph.other_weight_bytes(), 8'000'000);

  request.set_hf_quant_config_json("[");
  EXPECT_THAT(FactsOf(Call(import, request, &imported)).Fields(),
              ElementsAre("hf_quant_config_json"));
  request.clear_hf_quant_config_json();
  request.set_safetensors_index_json("{}{");
  EXPECT_THAT(FactsOf(Call(import, request, &imported)).Fields(),
              ElementsAre("safetensors_index_json"));
}

TEST_F(CatalogTest, ImportsRefuseWhatTheyCannotModel) {
  v1::ImportHuggingFaceConfigResponse imported;
  EXPECT_THAT(FactsOf(Import("", &imported)).Fields(),
              ElementsAre("config_json"));
  EXPECT_THAT(FactsOf(Import("{", &imported)).Fields(),
              ElementsAre("config_json"));
  const ErrorFacts missing =
      FactsOf(Import(R"({"architectures": ["LlamaForCausalLM"]})", &imported));
  EXPECT_EQ(missing.reason, "INVALID_REQUEST") << missing;
  EXPECT_THAT(missing.Fields(), Contains("config_json.hidden_size"));
  EXPECT_THAT(missing.Fields(), Contains("config_json.vocab_size"));

  ErrorFacts unsupported =
      FactsOf(Import(R"({"architectures": ["LlamaForCausalLN"]})", &imported));
  EXPECT_EQ(unsupported.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(unsupported.reason, "ARCHITECTURE_UNSUPPORTED") << unsupported;
  EXPECT_EQ(unsupported.metadata["architecture"], "LlamaForCausalLN");
  EXPECT_THAT(unsupported.metadata["supported"], HasSubstr("LlamaForCausalLM"));
}

}  // namespace
}  // namespace mansard::testing
