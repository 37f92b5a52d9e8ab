#include "server/call_class.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/catalog/catalog.h"
#include "server/catalog/engine_entry.h"

namespace mansard::server {
namespace {

v1::EstimateRequest Pass(int groups, const char* part = "") {
  v1::EstimateRequest request;
  for (int i = 0; i < groups; ++i) request.mutable_forward_pass()->add_groups();
  if (*part != '\0') request.mutable_read_mask()->add_paths(part);
  return request;
}

v1::BatchEstimateRequest Batch(int size, const v1::EstimateRequest& one) {
  v1::BatchEstimateRequest batch;
  for (int i = 0; i < size; ++i) *batch.add_requests() = one;
  return batch;
}

TEST(ClassOf, AnEstimateIsHotUnlessItsPassIsLong) {
  EXPECT_EQ(ClassOf(Pass(0)), CallClass::kHot);
  EXPECT_EQ(ClassOf(Pass(1)), CallClass::kHot);
  EXPECT_EQ(ClassOf(Pass(1, "estimate.ops")), CallClass::kHot);
  EXPECT_EQ(ClassOf(Pass(100, "estimate.ops")), CallClass::kHot);
  EXPECT_EQ(ClassOf(Pass(500)), CallClass::kHot);
  EXPECT_EQ(ClassOf(Pass(500, "estimate.ops")), CallClass::kHeavy);
  EXPECT_EQ(ClassOf(Pass(1000)), CallClass::kHeavy);
}

TEST(ClassOf, ABatchIsHotWhileItsEstimatesAreFew) {
  EXPECT_EQ(ClassOf(v1::BatchEstimateRequest()), CallClass::kHot);
  EXPECT_EQ(ClassOf(Batch(64, Pass(1))), CallClass::kHot);
  EXPECT_EQ(ClassOf(Batch(128, Pass(1))), CallClass::kHeavy);
  EXPECT_EQ(ClassOf(Batch(16, Pass(1, "estimate.ops"))), CallClass::kHot);
  EXPECT_EQ(ClassOf(Batch(64, Pass(1, "estimate.ops"))), CallClass::kHeavy);
}

TEST(ClassOf, WhatIsSentAlongCounts) {
  v1::EstimateRequest request = Pass(1);
  request.mutable_target()->mutable_inline_model_graph()->set_display_name(
      std::string(5'000, 'x'));
  EXPECT_EQ(ClassOf(request), CallClass::kHot);
  EXPECT_EQ(ClassOf(Batch(16, request)), CallClass::kHeavy);
  request.mutable_target()->mutable_inline_hardware_profile()->set_display_name(
      std::string(100'000, 'x'));
  EXPECT_EQ(ClassOf(request), CallClass::kHeavy);
}

TEST(ClassOf, KernelsAndPages) {
  v1::EstimateKernelRequest kernel;
  EXPECT_EQ(ClassOf(kernel), CallClass::kHot);
  *kernel.mutable_attention()->mutable_forward_pass() =
      Pass(1000).forward_pass();
  EXPECT_EQ(ClassOf(kernel), CallClass::kHeavy);
  v1::ListHardwareProfilesRequest page;
  EXPECT_EQ(ClassOf(page), CallClass::kHot);
  page.set_page_size(100);
  EXPECT_EQ(ClassOf(page), CallClass::kHeavy);
  page.set_page_size(-1);  // To be refused.
  EXPECT_EQ(ClassOf(page), CallClass::kHot);
}

// Engines whose passes are looked up in curves ("quick", and "drafting", whose
// model drafts itself), and one whose passes are not ("staged").
class EngineClassTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto catalog = Catalog::OpenInMemory();
    ASSERT_TRUE(catalog.ok());
    catalog_ = *std::move(catalog);
    Put("quick", "llama-3.1-8b", 1, 1);
    Put("staged", "llama-3.1-8b", 1, 2);
    Put("drafting", "deepseek-v3", 8, 1);
    state_ = catalog_->state();
  }

  void Put(const std::string& id, const std::string& model, int tensor,
           int pipeline) {
    v1::Engine said;
    v1::Target& target = *said.mutable_target();
    target.set_model_graph("modelGraphs/" + model);
    target.set_hardware_profile("hardwareProfiles/h200-sxm");
    target.mutable_parallelism()->set_tensor_size(tensor);
    target.mutable_parallelism()->set_pipeline_size(pipeline);
    CatalogWriter writer(*catalog_);
    model::Violations violations;
    auto entry = MakeEntry(writer.snapshot(), id, said, nullptr, writer.now(),
                           violations);
    ASSERT_TRUE(entry.ok()) << violations.ToStatus();
    ASSERT_TRUE(writer.Put(id, *entry, /*validate_only=*/false).ok());
  }
  template <class Request>
  CallClass Of(const std::string& engine, Request request) {
    request.set_engine("engines/" + engine);
    return ClassOf(request, *state_);
  }
  CallClass OfRows(const std::string& engine, int rows) {
    v1::PredictStepsRequest request;
    request.mutable_decode_request_counts()->Resize(rows, 1);
    return Of(engine, request);
  }
  CallClass OfQueries(const std::string& engine, int rows, double accepted) {
    v1::PredictLatenciesRequest request;
    for (int i = 0; i < rows; ++i) {
      v1::LatencyQuery& query = *request.add_queries();
      query.set_engine("engines/" + engine);
      query.set_accepted_tokens_per_pass_count(accepted);
    }
    return ClassOf(request, *state_);
  }

  std::unique_ptr<Catalog> catalog_;
  std::shared_ptr<const CatalogState> state_;
};

TEST_F(EngineClassTest, CurvesMakeCallsHot) {
  const v1::RecommendBatchSizeRequest recommend;
  EXPECT_EQ(Of("quick", recommend), CallClass::kHot);
  EXPECT_EQ(Of("staged", recommend), CallClass::kHeavy);
  const v1::FindEngineCapacityRequest capacity;
  EXPECT_EQ(Of("quick", capacity), CallClass::kHot);
  EXPECT_EQ(Of("staged", capacity), CallClass::kHeavy);
  // To be refused.
  EXPECT_EQ(Of("absent", recommend), CallClass::kHot);
  EXPECT_EQ(Of("", recommend), CallClass::kHot);
}

TEST_F(EngineClassTest, ContextsCount) {
  v1::RecommendBatchSizeRequest request;
  while (request.contexts_size() < 16) request.add_contexts();
  EXPECT_EQ(Of("quick", request), CallClass::kHot);
  while (request.contexts_size() < 64) request.add_contexts();
  EXPECT_EQ(Of("quick", request), CallClass::kHeavy);
}

TEST_F(EngineClassTest, RowsCount) {
  EXPECT_EQ(OfRows("quick", 0), CallClass::kHot);
  EXPECT_EQ(OfRows("quick", 3000), CallClass::kHot);
  EXPECT_EQ(OfRows("quick", 100'000), CallClass::kHeavy);
  EXPECT_EQ(OfRows("staged", 30), CallClass::kHot);
  EXPECT_EQ(OfRows("staged", 4000), CallClass::kHeavy);
  EXPECT_EQ(OfQueries("staged", 8, 0), CallClass::kHot);
  EXPECT_EQ(OfQueries("staged", 64, 0), CallClass::kHeavy);
}

// A model's own drafts are on no curve, said or implied by what is accepted.
TEST_F(EngineClassTest, OwnDraftsAreHeavy) {
  v1::RecommendBatchSizeRequest recommend;
  EXPECT_EQ(Of("drafting", recommend), CallClass::kHot);
  recommend.set_draft_token_count(1);
  EXPECT_EQ(Of("drafting", recommend), CallClass::kHeavy);
  EXPECT_EQ(Of("quick", recommend), CallClass::kHot);
  v1::FindEngineCapacityRequest capacity;
  EXPECT_EQ(Of("drafting", capacity), CallClass::kHot);
  capacity.set_accepted_tokens_per_pass_count(1.8);
  EXPECT_EQ(Of("drafting", capacity), CallClass::kHeavy);
  EXPECT_EQ(Of("quick", capacity), CallClass::kHot);
  EXPECT_EQ(OfQueries("drafting", 64, 1), CallClass::kHot);
  EXPECT_EQ(OfQueries("drafting", 64, 1.8), CallClass::kHeavy);
}

TEST_F(EngineClassTest, LongPassesOfStreamsAreHeavy) {
  const auto of = [&](const std::string& engine, int groups) {
    v1::StreamPredictionsRequest request;
    *request.mutable_forward_pass() = Pass(groups).forward_pass();
    return ClassOf(request, "engines/" + engine, *state_);
  };
  EXPECT_EQ(of("quick", 2), CallClass::kHot);
  EXPECT_EQ(of("quick", 500), CallClass::kHot);
  EXPECT_EQ(of("quick", 1024), CallClass::kHeavy);
  EXPECT_EQ(of("absent", 1024), CallClass::kHeavy);
  EXPECT_EQ(of("staged", 2), CallClass::kHot);
  EXPECT_EQ(of("staged", 300), CallClass::kHeavy);
}

}  // namespace
}  // namespace mansard::server
