// What a client reads from an error: gRPC status and its google.rpc details.
#pragma once

#include <grpcpp/support/status.h>

#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace mansard::testing {

struct ErrorFacts {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;
  // Of ErrorInfo. The reason is empty unless there is exactly one.
  std::string reason;
  std::string domain;
  std::map<std::string, std::string> metadata;
  // Of BadRequest: {field, description}.
  std::vector<std::pair<std::string, std::string>> violations;
  // Of ResourceInfo.
  std::string resource_type;
  std::string resource_name;

  // Fields of the violations, without repeats, sorted.
  std::vector<std::string> Fields() const;
};
std::ostream& operator<<(std::ostream& out, const ErrorFacts& facts);

ErrorFacts FactsOf(const grpc::Status& status);

}  // namespace mansard::testing
