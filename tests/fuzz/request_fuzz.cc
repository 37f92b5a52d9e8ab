// Bytes as a request to the server's handlers, in process: an answer has finite
// times, none below its floor; an error has a reason and says what is wrong.
//
// The first byte decides: even, the rest is an EstimateRequest; odd, an
// EstimateKernelRequest. Both in the binary wire format.
#include <grpcpp/server_context.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "google/protobuf/stubs/logging.h"
#include "mansard/v1/estimation_service.pb.h"
#include "server/env.h"
#include "server/handlers/estimation.h"
#include "server/handlers/kernel.h"
#include "server/rpc.h"
#include "tests/fuzz/errors.h"
#include "tests/fuzz/property.h"

namespace {

namespace fuzz = ::mansard::fuzz;
namespace server = ::mansard::server;
namespace v1 = ::mansard::v1;
using fuzz::Require;

// A sum of rounded times may lie this much below the sum of their floors.
constexpr double kRounding = 1e-9;

server::ServerEnv& Env() {
  static server::ServerEnv& env = *[] {
    auto catalog = server::Catalog::OpenInMemory();
    Require(catalog.ok(), "the catalog loads", catalog.status());
    return new server::ServerEnv(server::LogLevel::kOff, *std::move(catalog),
                                 /*heavy_threads=*/1, /*heavy_queue=*/1);
  }();
  return env;
}

template <class Message>
void RequireTimes(const Message& answer) {
  const double floor = answer.floor_seconds();
  for (const double time :
       {floor, answer.time_seconds(), answer.overlapped_seconds(),
        answer.serial_seconds(), answer.p10_seconds(), answer.p90_seconds()}) {
    Require(std::isfinite(time) && time >= 0, "times are finite", answer);
  }
  Require(answer.time_seconds() >= floor * (1 - kRounding),
          "no time is below its floor", answer);
}

void RequireAnswer(const v1::EstimateResponse& response) {
  const v1::PhaseEstimate& estimate = response.estimate();
  RequireTimes(estimate);
  for (const v1::OpEstimate& op : estimate.ops()) RequireTimes(op);
  for (const double number : {estimate.model_flops_utilization_ratio(),
                              estimate.memory_bandwidth_utilization_ratio(),
                              estimate.output_tokens_per_second()}) {
    Require(std::isfinite(number) && number >= 0, "rates are finite", estimate);
  }
  Require(response.memory().weight_bytes() > 0 &&
              response.memory().kv_cache_bytes() >= 0,
          "memory is counted", response.memory());
}

void RequireAnswer(const v1::EstimateKernelResponse& response) {
  RequireTimes(response);
  Require(response.ops_size() > 0, "a kernel has ops");
  for (const v1::OpEstimate& op : response.ops()) RequireTimes(op);
}

template <class Request, class Response>
void Call(server::Handler<Request, Response> handler, const uint8_t* data,
          size_t size) {
  Request request;
  // What does not parse never reaches a handler.
  if (!request.ParseFromArray(data, static_cast<int>(size))) return;
  const grpc::CallbackServerContext context;
  server::CallContext call(Env(), context);
  Response response;
  const absl::Status status = handler(call, request, response);
  if (status.ok()) {
    RequireAnswer(response);
  } else {
    fuzz::RequireError(status);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // Every input that is not UTF-8 would be a line.
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0) {
    Call(&server::Estimate, data + 1, size - 1);
  } else {
    Call(&server::EstimateKernel, data + 1, size - 1);
  }
  return 0;
}
