// A server with engines, and calls of SchedulingService on them.
#pragma once

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
#include "tests/support/catalog_calls.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {

// Of a step that is looked up in curves, beside one that is lowered.
inline constexpr double kCurveTolerance = 1e-3;

// Of a row that failed.
inline ErrorFacts FactsOf(const google::rpc::Status& error) {
  return FactsOf(grpc::Status(static_cast<grpc::StatusCode>(error.code()),
                              error.message(), error.SerializeAsString()));
}

// "groups { ... }", as ForwardPass has them.
inline std::string DecodeGroup(int requests, int64_t context,
                               int new_tokens = 1) {
  return absl::StrCat("groups { role: ROLE_DECODE request_count: ", requests,
                      " new_token_count: ", new_tokens,
                      " prior_token_count: ", context - new_tokens, " } ");
}
inline std::string PromptGroup(int requests, int tokens, int64_t cached = 0) {
  return absl::StrCat("groups { role: ROLE_PREFILL request_count: ", requests,
                      " new_token_count: ", tokens,
                      " prior_token_count: ", cached, " } ");
}

class SchedulingTest : public ::testing::Test {
 protected:
  using Stub = v1::SchedulingService::Stub;

  explicit SchedulingTest(const server::ServerOptions& options = TestOptions())
      : server_(options),
        stub_(v1::SchedulingService::NewStub(server_.channel())) {}

  // Of Llama-3.1-8B on one H100; `more` is merged into it.
  void CreateEngine(const std::string& id, const std::string& more = "") {
    v1::CreateEngineRequest request;
    request.set_engine_id(id);
    *request.mutable_engine() = Parse<v1::Engine>(
        absl::StrCat("target { model_graph: 'modelGraphs/llama-3.1-8b' "
                     "hardware_profile: 'hardwareProfiles/h100-sxm' } ",
                     more));
    const auto created = CallOf(
        server_.catalog(), &v1::CatalogService::Stub::CreateEngine, request);
    ASSERT_TRUE(created.ok()) << created.facts();
  }

  template <class Request, class Response>
  Called<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                     const Request&, Response*),
                        const Request& request) {
    return CallOf(*stub_, method, request);
  }

  // Time of each pass, lowered and priced for it, by EstimationService.
  std::vector<double> Estimated(const std::string& engine,
                                const std::vector<std::string>& passes) {
    v1::BatchEstimateRequest batch;
    for (const std::string& groups : passes) {
      *batch.add_requests() = Parse<v1::EstimateRequest>(
          absl::StrCat("engine: '", engine, "' forward_pass { ", groups, " }"));
    }
    v1::BatchEstimateResponse response;
    const grpc::Status status = server_.BatchEstimate(batch, &response);
    EXPECT_TRUE(status.ok()) << FactsOf(status);
    std::vector<double> seconds(passes.size());
    for (int i = 0; i < response.responses_size(); ++i) {
      seconds[static_cast<size_t>(i)] =
          response.responses(i).estimate().time_seconds();
    }
    return seconds;
  }
  double Estimated(const std::string& engine, const std::string& groups) {
    return Estimated(engine, std::vector<std::string>{groups})[0];
  }

  TestServer server_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace mansard::testing
