// Errors as callers see them: google.rpc.Status with exactly one ErrorInfo.
// Inside the server an error is an absl::Status that carries the details as
// payloads; ToGrpcStatus is the one place that puts them on the wire.
//
// Details travel in the trailers, and clients refuse trailers above 8 KB. So
// quoted input is clipped, and a BadRequest that would be too long ends with a
// violation that says how many more there are.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "model/base/violations.h"

namespace mansard::server {

inline constexpr char kErrorDomain[] = "mansard";

class ErrorBuilder {
 public:
  // `reason` is UPPER_SNAKE_CASE, at most 63 characters.
  ErrorBuilder(absl::StatusCode code, absl::string_view reason);

  ErrorBuilder& Message(absl::string_view message);
  // What is dynamic in the message, for programs. Nothing where it is empty.
  ErrorBuilder& Metadata(absl::string_view key, absl::string_view value);
  // "mansard.v1.ModelGraph" and "modelGraphs/x".
  ErrorBuilder& Resource(absl::string_view type, absl::string_view name);
  // Of a PreconditionFailure: "ENGINE", "engines/prod-a". Those that would make
  // the error too long are left out.
  ErrorBuilder& Precondition(absl::string_view type, absl::string_view subject,
                             absl::string_view description);
  // When to try again.
  ErrorBuilder& RetryAfter(absl::Duration delay);
  absl::Status Build() const;

 private:
  absl::StatusCode code_;
  std::string message_;
  google::rpc::ErrorInfo info_;
  google::rpc::ResourceInfo resource_;
  google::rpc::RetryInfo retry_;
  google::rpc::PreconditionFailure precondition_;
};

// INVALID_ARGUMENT INVALID_REQUEST with every violation. Precondition: there
// is one.
absl::Status InvalidRequest(const model::Violations& violations);

// The same error for one of many requests: the message starts with `path`, and
// metadata "request" holds it.
absl::Status AtPath(const absl::Status& error, absl::string_view path);

// The details of an error; an error that has none gets its code's name as the
// reason.
google::rpc::ErrorInfo ErrorInfoOf(const absl::Status& error);

// With its details. Precondition: it is an error.
google::rpc::Status ToRpcStatus(const absl::Status& status);
// The same as binary details.
grpc::Status ToGrpcStatus(const absl::Status& status);

// At most `limit` bytes of `text`, not cut inside a character, with "..."
// where it was cut.
std::string Clip(absl::string_view text, size_t limit);
// In double quotes, clipped to a readable length.
std::string Quoted(absl::string_view text);

}  // namespace mansard::server
