// A real server in the test's process, on a free loopback port.
#pragma once

#include <google/protobuf/text_format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "mansard/v1/catalog_service.grpc.pb.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/planning_service.grpc.pb.h"
#include "server/server.h"

namespace mansard::testing {

// Ports 0, no waits, no log.
server::ServerOptions TestOptions();

class TestServer {
 public:
  // Ends the test process when the server does not start.
  explicit TestServer(server::ServerOptions options = TestOptions());

  server::Server& server() { return *server_; }
  // "127.0.0.1:port".
  std::string address() const;
  std::string metrics_address() const;
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Calls over the network, with a deadline of a minute.
  grpc::Status Estimate(const v1::EstimateRequest& request,
                        v1::EstimateResponse* response);
  grpc::Status BatchEstimate(const v1::BatchEstimateRequest& request,
                             v1::BatchEstimateResponse* response);
  v1::CatalogService::Stub& catalog() { return *catalog_; }

 private:
  std::unique_ptr<server::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::EstimationService::Stub> estimation_;
  std::unique_ptr<v1::CatalogService::Stub> catalog_;
};

void SetDeadline(grpc::ClientContext& context, int seconds = 60);

// A message from its text form. A later field wins over or is merged into an
// earlier one, so that a test can add to a common text. A test fails where it
// does not parse.
template <class Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(text, &message))
      << text;
  return message;
}

// The body of a GET and its status code; code 0 when there is no answer.
struct HttpAnswer {
  int code = 0;
  std::string body;
};
HttpAnswer HttpGet(const std::string& address, const std::string& path);

}  // namespace mansard::testing
