#include "server/call_class.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace mansard::server
