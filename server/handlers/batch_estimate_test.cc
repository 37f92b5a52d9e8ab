// EstimationService.BatchEstimate over real gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/error_facts.h"
#include "tests/support/test_server.h"

namespace mansard::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

v1::EstimateRequest Decode(int requests) {
  return Parse<v1::EstimateRequest>(absl::StrCat(
      R"pb(target {
             model_graph: "modelGraphs/llama-3.1-8b"
             hardware_profile: "hardwareProfiles/h100-sxm"
           }
           forward_pass { groups { role: ROLE_DECODE new_token_count: 1
                                   prior_token_count: 500
                                   request_count:)pb",
      requests, "} }"));
}

class BatchEstimateTest : public ::testing::Test {
 protected:
  ErrorFacts Refused(const v1::BatchEstimateRequest& request) {
    v1::BatchEstimateResponse response;
    const grpc::Status status = server_.BatchEstimate(request, &response);
    EXPECT_FALSE(status.ok());
    return FactsOf(status);
  }

  TestServer server_;
};

TEST_F(BatchEstimateTest, AnswersInOrderAsOneByOne) {
  v1::BatchEstimateRequest batch;
  for (int i = 1; i <= 1000; ++i) *batch.add_requests() = Decode(i);
  v1::BatchEstimateResponse answers;
  const grpc::Status status = server_.BatchEstimate(batch, &answers);
  ASSERT_TRUE(status.ok()) << FactsOf(status);
  ASSERT_EQ(answers.responses_size(), 1000);
  for (int i : {0, 1, 499, 999}) {
    v1::EstimateResponse alone;
    ASSERT_TRUE(server_.Estimate(batch.requests(i), &alone).ok());
    EXPECT_EQ(answers.responses(i).SerializeAsString(),
              alone.SerializeAsString())
        << i;
  }
}

TEST_F(BatchEstimateTest, SizesBeyondTheLimitsAreRefused) {
  v1::BatchEstimateRequest batch;
  EXPECT_THAT(Refused(batch).Fields(), ElementsAre("requests"));
  for (int i = 0; i < 1001; ++i) *batch.add_requests() = Decode(1);
  const ErrorFacts facts = Refused(batch);
  EXPECT_EQ(facts.reason, "INVALID_REQUEST");
  EXPECT_THAT(facts.Fields(), ElementsAre("requests"));
  EXPECT_THAT(facts.violations[0].second, HasSubstr("1001"));
}

TEST_F(BatchEstimateTest, ViolationsOfAllRequestsComeWithTheirPlace) {
  v1::BatchEstimateRequest batch;
  *batch.add_requests() = Decode(0);
  *batch.add_requests() = Decode(1);
  *batch.add_requests() = Decode(-1);
  batch.mutable_requests(2)->mutable_read_mask()->add_paths("x");
  EXPECT_THAT(Refused(batch).Fields(),
              ElementsAre("requests[0].forward_pass.groups[0].request_count",
                          "requests[2].forward_pass.groups[0].request_count",
                          "requests[2].read_mask.paths[0]"));
}

TEST_F(BatchEstimateTest, OneErrorFailsAllAndSaysWhich) {
  v1::BatchEstimateRequest batch;
  for (int i = 0; i < 3; ++i) *batch.add_requests() = Decode(1);
  batch.mutable_requests(1)->mutable_target()->set_hardware_profile(
      "hardwareProfiles/h100-smx");
  ErrorFacts facts = Refused(batch);
  EXPECT_EQ(facts.reason, "HARDWARE_PROFILE_NOT_FOUND") << facts;
  EXPECT_THAT(facts.message, StartsWith("requests[1]: No hardware profile"));
  EXPECT_EQ(facts.metadata["request"], "requests[1]");

  batch.mutable_requests(1)->mutable_target()->set_hardware_profile(
      "hardwareProfiles/h100-sxm");
  batch.mutable_requests(2)->set_require_fit(true);
  batch.mutable_requests(2)->mutable_target()->set_model_graph(
      "modelGraphs/llama-3.1-70b");
  facts = Refused(batch);
  EXPECT_EQ(facts.reason, "MODEL_DOES_NOT_FIT") << facts;
  EXPECT_EQ(facts.metadata["request"], "requests[2]");
}

// Trailers above 8 KB would hide the error from the caller.
TEST_F(BatchEstimateTest, AThousandBadRequestsAreStillReadable) {
  v1::BatchEstimateRequest batch;
  for (int i = 0; i < 1000; ++i) batch.add_requests();
  ErrorFacts facts = Refused(batch);
  EXPECT_EQ(facts.code, grpc::StatusCode::INVALID_ARGUMENT) << facts;
  EXPECT_EQ(facts.reason, "INVALID_REQUEST") << facts;
  EXPECT_EQ(facts.metadata["violation_count"], "2000");
  EXPECT_EQ(facts.violations[0].first, "requests[0].target");
  EXPECT_EQ(facts.violations.back().second,
            absl::StrCat("and ", 2000 - (facts.violations.size() - 1),
                         " more violations"));
}

TEST_F(BatchEstimateTest, RequestsBeyondFourMegabytesAreRefused) {
  v1::BatchEstimateRequest batch;
  *batch.add_requests() = Decode(1);
  batch.mutable_requests(0)->mutable_target()->set_model_graph(
      std::string(5'000'000, 'x'));
  EXPECT_EQ(Refused(batch).code, grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(BatchEstimateTest, AnswersBeyondTheLimitAreRefused) {
  // Per-op rows of 190 passes of 1000 groups: about 90 MB.
  v1::BatchEstimateRequest batch;
  v1::EstimateRequest& request = *batch.add_requests();
  request = Decode(1);
  request.mutable_read_mask()->add_paths("estimate.ops");
  for (int i = 1; i < 1000; ++i) {
    *request.mutable_forward_pass()->add_groups() =
        request.forward_pass().groups(0);
  }
  while (batch.requests_size() < 190) *batch.add_requests() = request;
  ASSERT_LT(batch.ByteSizeLong(), 4'000'000u);
  const ErrorFacts facts = Refused(batch);
  EXPECT_EQ(facts.code, grpc::StatusCode::RESOURCE_EXHAUSTED) << facts;
  EXPECT_EQ(facts.reason, "RESPONSE_TOO_LARGE") << facts;
}

}  // namespace
}  // namespace mansard::testing
