#include "clients/cli/session.h"

#include <utility>

namespace mansard::cli {

Session::Session(std::shared_ptr<grpc::Channel> channel, std::string server,
                 absl::Duration timeout)
    : client_(std::move(channel), timeout), server_(std::move(server)) {}

}  // namespace mansard::cli
