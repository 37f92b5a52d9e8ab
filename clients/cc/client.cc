#include "clients/cc/client.h"

#include <utility>

#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace mansard::client {

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  // Servers of this version listen on loopback and unix sockets only, where no
  // proxy leads; gRPC would otherwise follow http_proxy even to localhost.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

Client::Client(std::shared_ptr<grpc::Channel> channel, absl::Duration timeout)
    : channel_(std::move(channel)),
      deadline_(absl::Now() + timeout),
      estimation_(v1::EstimationService::NewStub(channel_)),
      catalog_(v1::CatalogService::NewStub(channel_)),
      planning_(v1::PlanningService::NewStub(channel_)),
      calibration_(v1::CalibrationService::NewStub(channel_)),
      scheduling_(v1::SchedulingService::NewStub(channel_)) {}

std::unique_ptr<grpc::ClientContext> Client::NewContext() const {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(deadline_));
  return context;
}

}  // namespace mansard::client
