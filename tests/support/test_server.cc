#include "tests/support/test_server.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::testing {

server::ServerOptions TestOptions() {
  server::ServerOptions options;
  options.listen_address = "127.0.0.1:0";
  options.metrics_address = "127.0.0.1:0";
  options.drain_delay = absl::ZeroDuration();
  options.drain_deadline = absl::Seconds(10);
  options.log_level = server::LogLevel::kOff;
  return options;
}

TestServer::TestServer(server::ServerOptions options) {
  auto created = server::Server::Create(std::move(options));
  if (!created.ok()) {
    std::fprintf(stderr, "no test server: %s\n",
                 created.status().ToString().c_str());
    std::abort();
  }
  server_ = *std::move(created);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  channel_ = grpc::CreateCustomChannel(
      address(), grpc::InsecureChannelCredentials(), arguments);
  estimation_ = v1::EstimationService::NewStub(channel_);
  catalog_ = v1::CatalogService::NewStub(channel_);
}

std::string TestServer::address() const {
  return absl::StrCat("127.0.0.1:", server_->port());
}

std::string TestServer::metrics_address() const {
  return absl::StrCat("127.0.0.1:", server_->metrics_port());
}

grpc::Status TestServer::Estimate(const v1::EstimateRequest& request,
                                  v1::EstimateResponse* response) {
  grpc::ClientContext context;
  SetDeadline(context);
  return estimation_->Estimate(&context, request, response);
}

grpc::Status TestServer::BatchEstimate(const v1::BatchEstimateRequest& request,
                                       v1::BatchEstimateResponse* response) {
  grpc::ClientContext context;
  SetDeadline(context);
  return estimation_->BatchEstimate(&context, request, response);
}

void SetDeadline(grpc::ClientContext& context, int seconds) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(seconds));
}

HttpAnswer HttpGet(const std::string& address, const std::string& path) {
  HttpAnswer answer;
  const size_t colon = address.rfind(':');
  sockaddr_in peer = {};
  peer.sin_family = AF_INET;
  peer.sin_port =
      htons(static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1)));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit = {10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  std::string text;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) ==
      0) {
    // 1.0: the body comes in one piece.
    const std::string request =
        absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: ", address,
                     "\r\nConnection: close\r\n\r\n");
    if (write(fd, request.data(), request.size()) > 0) {
      char block[4096];
      ssize_t count = 0;
      while ((count = read(fd, block, sizeof(block))) > 0) {
        text.append(block, static_cast<size_t>(count));
      }
    }
  }
  close(fd);
  const size_t body = text.find("\r\n\r\n");
  if (body == std::string::npos) return answer;
  answer.code = std::atoi(text.c_str() + text.find(' '));
  answer.body = text.substr(body + 4);
  return answer;
}

}  // namespace mansard::testing
