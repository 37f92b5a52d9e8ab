// The servers and requests of the RPC benchmarks.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/server.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "mansard/v1/estimation_service.grpc.pb.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
#include "server/server.h"

namespace mansard::load {

// Prints the message and ends the process: a benchmark has no other way out.
[[noreturn]] void Fail(const std::string& message);

// One decode step of Llama-3.1-70B on eight H100.
v1::EstimateRequest DecodeRequest(int requests);
v1::BatchEstimateRequest BatchRequest(int size);

grpc::Status SendOne(v1::EstimationService::Stub& stub,
                     const v1::EstimateRequest& request,
                     v1::EstimateResponse& response);
grpc::Status SendOne(v1::EstimationService::Stub& stub,
                     const v1::BatchEstimateRequest& request,
                     v1::BatchEstimateResponse& response);

// A real server, with "engines/bench", and an empty one: the empty one's
// handlers copy a constant answer. Same API, same arenas.
class BenchServers {
 public:
  BenchServers();
  ~BenchServers();

  // Over loopback, or without the network.
  std::shared_ptr<grpc::Channel> RealChannel(bool in_process);
  std::shared_ptr<grpc::Channel> EmptyChannel(bool in_process);
  // What the empty server answers. Not while it has calls.
  void SetAnswer(const v1::EstimateResponse& answer);
  void SetAnswer(const v1::BatchEstimateResponse& answer);
  void SetAnswer(const v1::RecommendBatchSizeResponse& answer);
  void SetAnswer(const v1::PredictLatenciesResponse& answer);
  void SetAnswer(const v1::PredictStepsResponse& answer);
  void SetAnswer(const v1::FindEngineCapacityResponse& answer);
  void SetAnswer(const v1::StreamPredictionsResponse& answer);

 private:
  class EmptyEstimation;
  class EmptyScheduling;
  void CreateEngine();

  std::unique_ptr<EmptyEstimation> empty_estimation_;
  std::unique_ptr<EmptyScheduling> empty_scheduling_;
  int empty_port_ = 0;
  std::unique_ptr<server::Server> real_;
  std::unique_ptr<grpc::Server> empty_;
};

// The process's.
BenchServers& TheServers();

}  // namespace mansard::load
