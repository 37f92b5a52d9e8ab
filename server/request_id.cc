#include "server/request_id.h"

#include <algorithm>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

namespace mansard::server {
namespace {

uint64_t RandomNumber() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

bool IsRequestId(absl::string_view id) {
  return !id.empty() && id.size() <= 128 &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_isgraph(static_cast<unsigned char>(c));
         });
}

RequestIds::RequestIds() : server_(RandomNumber()) {}

std::string RequestIds::Of(const grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find(kRequestIdHeader);
  if (found != context.client_metadata().end()) {
    const absl::string_view id(found->second.data(), found->second.size());
    if (IsRequestId(id)) return std::string(id);
  }
  return Next();
}

std::string RequestIds::Next() {
  return absl::StrFormat("%016x-%x", server_, count_.fetch_add(1) + 1);
}

}  // namespace mansard::server
