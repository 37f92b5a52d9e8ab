// A channel to a Mansard server and a deadline, nothing more: callers use the
// generated stubs.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "mansard/v1/calibration_service.grpc.pb.h"
#include "mansard/v1/catalog_service.grpc.pb.h"
#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/planning_service.grpc.pb.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"

namespace mansard::client {

// A plain-text channel to `address` ("host:port", "unix:/path", or any other
// gRPC target); http_proxy is not followed. Does not wait: an address where
// nobody listens shows at the first call, as UNAVAILABLE.
std::shared_ptr<grpc::Channel> Connect(const std::string& address);

// Thread-safe. Calls share one deadline, `timeout` after construction.
class Client {
 public:
  Client(std::shared_ptr<grpc::Channel> channel, absl::Duration timeout);

  // What a call needs, with the deadline set. One for each call.
  std::unique_ptr<grpc::ClientContext> NewContext() const;

  v1::EstimationService::Stub& estimation() const { return *estimation_; }
  v1::CatalogService::Stub& catalog() const { return *catalog_; }
  v1::PlanningService::Stub& planning() const { return *planning_; }
  v1::CalibrationService::Stub& calibration() const { return *calibration_; }
  v1::SchedulingService::Stub& scheduling() const { return *scheduling_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  absl::Time deadline_;
  std::unique_ptr<v1::EstimationService::Stub> estimation_;
  std::unique_ptr<v1::CatalogService::Stub> catalog_;
  std::unique_ptr<v1::PlanningService::Stub> planning_;
  std::unique_ptr<v1::CalibrationService::Stub> calibration_;
  std::unique_ptr<v1::SchedulingService::Stub> scheduling_;
};

}  // namespace mansard::client
