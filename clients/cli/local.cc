// The only file of the clients that knows the server.
#include "clients/cli/local.h"

#include <utility>

#include "server/server.h"

namespace mansard::cli {

struct LocalEngine::Parts {
  std::unique_ptr<server::Server> server;
};

absl::StatusOr<std::unique_ptr<LocalEngine>> LocalEngine::Start(
    const std::string& state_dir, bool may_change) {
  server::ServerOptions options;
  // Calls that fail are the command's to report, not the log's.
  options.log_level = server::LogLevel::kError;
  options.state_dir = state_dir;
  options.read_only_state = !may_change;
  absl::StatusOr<std::unique_ptr<server::Server>> server =
      server::Server::Create(std::move(options));
  if (!server.ok()) return server.status();
  auto parts = std::make_unique<Parts>();
  parts->server = *std::move(server);
  return std::unique_ptr<LocalEngine>(new LocalEngine(std::move(parts)));
}

LocalEngine::LocalEngine(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

LocalEngine::~LocalEngine() = default;

std::shared_ptr<grpc::Channel> LocalEngine::Channel() const {
  return parts_->server->InProcessChannel();
}

}  // namespace mansard::cli
