// The one door for every RPC: deadline and cancellation check, in-flight gauge,
// handler timer, status conversion, one log line. Handlers do none of it.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>

#include "absl/status/status.h"
#include "server/env.h"
#include "server/error.h"
#include "server/metrics.h"

namespace mansard::server {

// What a handler may use.
class CallContext {
 public:
  CallContext(ServerEnv& env, const grpc::CallbackServerContext& context);

  // One state throughout the call.
  const Snapshot& snapshot() const { return *snapshot_; }
  Metrics& metrics() { return env_.metrics; }
  // DEADLINE_EXCEEDED or CANCELLED once nobody waits for the answer. Handlers
  // with a loop ask now and then.
  absl::Status CheckAlive() const;

 private:
  ServerEnv& env_;
  const grpc::CallbackServerContext& context_;
  std::shared_ptr<const Snapshot> snapshot_;
};

// The life of one call, for metrics and log.
class CallRecord {
 public:
  CallRecord(ServerEnv& env, Method method,
             const grpc::CallbackServerContext& context);
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // Counts, logs and converts. Once.
  grpc::Status Finish(const absl::Status& status);

 private:
  ServerEnv& env_;
  Method method_;
  const grpc::CallbackServerContext& context_;
  std::chrono::steady_clock::time_point start_;
};

// Keeps the call counted as running until its answer has left.
class CountedReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit CountedReactor(Metrics& metrics) : metrics_(metrics) {}
  void OnDone() override;  // Deletes itself: the last that gRPC calls.

 private:
  Metrics& metrics_;
};

template <class Request, class Response>
using Handler = absl::Status (*)(CallContext&, const Request&, Response&);

// Runs the handler on the calling thread and finishes the call.
template <class Request, class Response>
grpc::ServerUnaryReactor* RunUnary(ServerEnv& env, Method method,
                                   Handler<Request, Response> handler,
                                   grpc::CallbackServerContext* context,
                                   const Request* request, Response* response) {
  auto* const reactor = new CountedReactor(env.metrics);
  CallRecord record(env, method, *context);
  CallContext call(env, *context);
  absl::Status status = call.CheckAlive();
  if (status.ok()) status = handler(call, *request, *response);
  reactor->Finish(record.Finish(status));
  return reactor;
}

}  // namespace mansard::server
