#include "tests/fuzz/errors.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/error.h"
#include "tests/fuzz/property.h"

namespace mansard::fuzz {
namespace {

// What clients take in trailers.
constexpr size_t kMaxTrailerBytes = 8192;

}  // namespace

// As a client reads it off the wire.
void RequireError(const absl::Status& error) {
  const grpc::Status wire = server::ToGrpcStatus(error);
  const std::string shown =
      absl::StrCat(wire.error_code(), ": ", wire.error_message());
  Require(!wire.error_message().empty(), "an error has a message", shown);
  Require(wire.error_message().size() + wire.error_details().size() <=
              kMaxTrailerBytes,
          "an error fits into trailers", shown);
  google::rpc::Status status;
  Require(status.ParseFromString(wire.error_details()), "details are a Status",
          shown);
  int reasons = 0;
  int violations = 0;
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad_request;
    if (detail.UnpackTo(&info) && !info.reason().empty()) ++reasons;
    if (!detail.UnpackTo(&bad_request)) continue;
    for (const auto& violation : bad_request.field_violations()) {
      Require(!violation.description().empty(), "a violation is described",
              violation.field());
      ++violations;
    }
  }
  Require(reasons == 1, "an error has one reason", status);
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
      Require(violations > 0, "a bad request names what is wrong", shown);
      break;
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
      break;
    default:
      Require(false, "the error is one that the service documents", shown);
  }
}

}  // namespace mansard::fuzz
