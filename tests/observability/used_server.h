// A server that does all that has metrics, and an engine beside it.
#pragma once

#include <memory>
#include <string>

#include "mansard/v1/calibration_service.grpc.pb.h"
#include "mansard/v1/scheduling_service.grpc.pb.h"
#include "tests/observability/text_server.h"
#include "tests/support/catalog_calls.h"

namespace mansard::testing {

class UsedServer {
 public:
  // With two engines of Llama-3.1-8B: "chat" on one H100, "batch" on two.
  UsedServer();

  // Some of every call. The load changes from round to round.
  void Use(int round);

  std::string metrics_address() const { return server_.metrics_address(); }
  // Metrics as vLLM shows them, which grow with the rounds.
  std::string engine_address() { return engine_.address(); }

 private:
  void CreateEngine(const std::string& id, int tensor_size);
  void Estimate(int round);
  void Schedule(int round);
  void Calibrate(int round);
  void Observe(int round);
  std::string EnginePage() const;

  TestServer server_;
  std::unique_ptr<v1::SchedulingService::Stub> scheduling_;
  std::unique_ptr<v1::CalibrationService::Stub> calibration_;
  std::atomic<int> rounds_ = 0;
  TextServer engine_;
};

}  // namespace mansard::testing
