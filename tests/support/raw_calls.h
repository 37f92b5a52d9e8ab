// Calls to services whose messages must not be generated into a binary that
// holds a server (reflection), or are not worth it (health).
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mansard::testing {

// grpc.health.v1.HealthCheckResponse.ServingStatus.
enum class Serving { kUnknown = 0, kServing = 1, kNotServing = 2 };

// Nothing when the call fails; `status` says why.
std::optional<Serving> CheckHealth(
    const std::shared_ptr<grpc::Channel>& channel, const std::string& service,
    grpc::Status* status = nullptr);

// A health watch.
class HealthWatch {
 public:
  HealthWatch(std::shared_ptr<grpc::Channel> channel,
              const std::string& service);
  ~HealthWatch();

  // Waits for the next answer. Nothing: the stream has ended.
  std::optional<Serving> Next();

 private:
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<grpc::ByteBuffer>> reader_;
};

// Names of the services that reflection lists, sorted.
std::vector<std::string> ReflectedServices(
    const std::shared_ptr<grpc::Channel>& channel);

}  // namespace mansard::testing
