// Ids of calls: what a caller and the log have in common.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace mansard::server {

// Metadata of requests, and of the answers of calls that failed.
inline constexpr char kRequestIdHeader[] = "x-request-id";

// 1 to 128 characters of printable ASCII without blanks: others are not taken
// over, so that nobody else writes the log.
bool IsRequestId(absl::string_view id);

// Of one server; ids that it makes start with 16 digits of its own.
// Thread-safe.
class RequestIds {
 public:
  RequestIds();
  // The caller's, or a new one.
  std::string Of(const grpc::CallbackServerContext& context);
  std::string Next();

 private:
  const uint64_t server_;
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace mansard::server
