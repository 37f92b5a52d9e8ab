#include "server/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"

namespace mansard::server {
namespace {

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

google::rpc::BadRequest BadRequestOf(const grpc::Status& status) {
  google::rpc::BadRequest bad_request;
  const google::rpc::Status details = DetailsOf(status);
  for (const auto& any : details.details()) {
    if (any.UnpackTo(&bad_request)) return bad_request;
  }
  ADD_FAILURE() << "no BadRequest";
  return bad_request;
}

TEST(ToGrpcStatus, OkHasNoDetails) {
  const grpc::Status status = ToGrpcStatus(absl::OkStatus());
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(status.error_details().empty());
}

TEST(ToGrpcStatus, CarriesReasonMetadataAndResource) {
  const grpc::Status status =
      ToGrpcStatus(ErrorBuilder(absl::StatusCode::kNotFound, "X_NOT_FOUND")
                       .Message("No x named \"a\"")
                       .Metadata("x", "a")
                       .Resource("mansard.v1.X", "xs/a")
                       .Build());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "No x named \"a\"");
  const google::rpc::Status details = DetailsOf(status);
  EXPECT_EQ(details.code(), 5);
  EXPECT_EQ(details.message(), status.error_message());
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "X_NOT_FOUND");
  EXPECT_EQ(info.domain(), "mansard");
  EXPECT_EQ(info.metadata().at("x"), "a");
  google::rpc::ResourceInfo resource;
  ASSERT_TRUE(details.details(1).UnpackTo(&resource));
  EXPECT_EQ(resource.resource_name(), "xs/a");
}

TEST(ToGrpcStatus, AnErrorWithoutDetailsHasItsCodeAsReason) {
  const google::rpc::Status details =
      DetailsOf(ToGrpcStatus(absl::DeadlineExceededError("too late")));
  google::rpc::ErrorInfo info;
  ASSERT_EQ(details.details_size(), 1);
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "DEADLINE_EXCEEDED");
}

TEST(InvalidRequest, HoldsEveryViolationInOrder) {
  model::Violations violations;
  violations.Add("a", "is -1");
  violations.Add("b[2].c", "is unknown");
  const grpc::Status status = ToGrpcStatus(InvalidRequest(violations));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "a: is -1; b[2].c: is unknown");
  const google::rpc::BadRequest bad_request = BadRequestOf(status);
  ASSERT_EQ(bad_request.field_violations_size(), 2);
  EXPECT_EQ(bad_request.field_violations(0).field(), "a");
  EXPECT_EQ(bad_request.field_violations(0).description(), "is -1");
  EXPECT_EQ(bad_request.field_violations(1).field(), "b[2].c");
}

// Clients refuse trailers above 8 KB and then show a useless error.
TEST(InvalidRequest, StaysBelowTheTrailerLimit) {
  model::Violations violations;
  for (int i = 0; i < 5000; ++i) {
    violations.Add(absl::StrCat("field[", i, "]"), std::string(10'000, 'x'));
  }
  const grpc::Status status = ToGrpcStatus(InvalidRequest(violations));
  EXPECT_LT(status.error_details().size() + status.error_message().size(),
            7000u);
  const google::rpc::BadRequest bad_request = BadRequestOf(status);
  const int shown = bad_request.field_violations_size() - 1;
  EXPECT_GE(shown, 5);
  EXPECT_EQ(bad_request.field_violations(shown).description(),
            absl::StrCat("and ", 5000 - shown, " more violations"));
}

TEST(ToGrpcStatus, SaysWhenToTryAgain) {
  const google::rpc::Status details = DetailsOf(
      ToGrpcStatus(ErrorBuilder(absl::StatusCode::kResourceExhausted, "BUSY")
                       .RetryAfter(absl::Milliseconds(1500))
                       .Build()));
  google::rpc::RetryInfo retry;
  ASSERT_EQ(details.details_size(), 2);
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(AtPath, PrefixesTheMessageAndKeepsTheDetails) {
  const absl::Status error =
      AtPath(ErrorBuilder(absl::StatusCode::kNotFound, "X_NOT_FOUND")
                 .Message("No x")
                 .Metadata("x", "a")
                 .Build(),
             "requests[3]");
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "requests[3]: No x");
  const google::rpc::ErrorInfo info = ErrorInfoOf(error);
  EXPECT_EQ(info.reason(), "X_NOT_FOUND");
  EXPECT_EQ(info.metadata().at("x"), "a");
  EXPECT_EQ(info.metadata().at("request"), "requests[3]");
}

TEST(Clip, CutsBetweenCharacters) {
  EXPECT_EQ(Clip("abc", 3), "abc");
  EXPECT_EQ(Clip("abcdef", 5), "ab...");
  // "é" is two bytes; the cut would fall inside the second.
  EXPECT_EQ(Clip("éééé", 6), "é...");
}

}  // namespace
}  // namespace mansard::server
