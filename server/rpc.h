// The one door for every RPC: deadline and cancellation check, in-flight gauge,
// handler timer, status conversion, one log line, and the choice of the thread.
// Handlers do none of it.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/call_class.h"
#include "server/env.h"
#include "server/error.h"
#include "server/handlers/target_resolver.h"
#include "server/metrics.h"

namespace mansard::server {

// What a handler may use.
class CallContext {
 public:
  CallContext(ServerEnv& env, const grpc::CallbackServerContext& context);

  // One state throughout the call.
  const CatalogState& state() const { return *state_; }
  const Snapshot& snapshot() const { return *state_->snapshot; }
  // Of that state; not beyond the call.
  TargetResolver targets() const { return TargetResolver(*state_); }
  // For writes, and for what is not in memory.
  Catalog& catalog() { return *env_.catalog; }
  Metrics& metrics() { return env_.metrics; }
  // DEADLINE_EXCEEDED or CANCELLED once nobody waits for the answer. Handlers
  // with a loop ask now and then.
  absl::Status CheckAlive() const;

 private:
  ServerEnv& env_;
  const grpc::CallbackServerContext& context_;
  std::shared_ptr<const CatalogState> state_;
};

// The life of one call, for metrics and log: it starts here.
class CallRecord {
 public:
  CallRecord(ServerEnv& env, Method method, CallClass call_class,
             grpc::CallbackServerContext& context);

  // Counts, logs and converts; a failure's trailers say the call's id. Once.
  grpc::Status Finish(const absl::Status& status) const;

 private:
  void Log(const absl::Status& status, double seconds,
           const std::string& request_id) const;

  ServerEnv& env_;
  Method method_;
  grpc::CallbackServerContext& context_;
  std::chrono::steady_clock::time_point start_;
};

// Keeps a heavy call counted as running until its answer has left: it may be
// large, and a draining server waits for it. Hot calls do with gRPC's own
// reactor, which needs no further thread to end; they are counted until their
// answer is handed over.
class HeavyReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit HeavyReactor(Metrics& metrics) : metrics_(metrics) {}
  void OnDone() override;  // Deletes itself: the last that gRPC calls.

 private:
  Metrics& metrics_;
};

// Queues `job` for the pool. Where the queue is full, RESOURCE_EXHAUSTED
// TOO_MANY_HEAVY_CALLS, and the job never runs.
absl::Status SubmitHeavy(ServerEnv& env, std::function<void()> job);

template <class Request, class Response>
using Handler = absl::Status (*)(CallContext&, const Request&, Response&);

// The handler's answer; none is needed where the caller is gone.
template <class Request, class Response>
absl::Status RunHandler(ServerEnv& env,
                        const grpc::CallbackServerContext& context,
                        Handler<Request, Response> handler,
                        const Request& request, Response& response) {
  CallContext call(env, context);
  absl::Status status = call.CheckAlive();
  return status.ok() ? handler(call, request, response) : status;
}

// Runs the handler and finishes the call: a hot one on the calling thread, a
// heavy one later on the pool.
template <class Request, class Response>
grpc::ServerUnaryReactor* RunUnary(ServerEnv& env, Method method,
                                   CallClass call_class,
                                   Handler<Request, Response> handler,
                                   grpc::CallbackServerContext* context,
                                   const Request* request, Response* response) {
  const CallRecord record(env, method, call_class, *context);
  if (call_class == CallClass::kHot) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(
        record.Finish(RunHandler(env, *context, handler, *request, *response)));
    env.metrics.CallDone(call_class);
    return reactor;
  }
  auto* const reactor = new HeavyReactor(env.metrics);
  const absl::Status queued = SubmitHeavy(env, [=, &env] {
    reactor->Finish(
        record.Finish(RunHandler(env, *context, handler, *request, *response)));
  });
  if (!queued.ok()) reactor->Finish(record.Finish(queued));
  return reactor;
}

}  // namespace mansard::server
