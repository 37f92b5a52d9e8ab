#include "server/rpc.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace mansard::server {
namespace {

// What a caller is told to wait when the queue is full: about as long as a full
// queue takes.
constexpr absl::Duration kRetryDelay = absl::Seconds(1);

// Failures that are ours, not the caller's.
bool IsServerFault(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal ||
         code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

LogLevel LevelOf(const absl::Status& status) {
  return IsServerFault(status.code()) ? LogLevel::kError : LogLevel::kInfo;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

absl::Status TooManyHeavyCalls(size_t queue_limit) {
  return ErrorBuilder(absl::StatusCode::kResourceExhausted,
                      "TOO_MANY_HEAVY_CALLS")
      .Message(absl::StrCat("The server is busy: ", queue_limit,
                            " calls wait already, as many as --heavy_queue "
                            "allows; try again later"))
      .Metadata("queue_limit", absl::StrCat(queue_limit))
      .RetryAfter(kRetryDelay)
      .Build();
}

}  // namespace

CallContext::CallContext(ServerEnv& env,
                         const grpc::CallbackServerContext& context)
    : env_(env), context_(context), state_(env.catalog->state()) {}

absl::Status CallContext::CheckAlive() const {
  if (context_.deadline() <= std::chrono::system_clock::now()) {
    return absl::DeadlineExceededError("the deadline has passed");
  }
  if (context_.IsCancelled()) {
    return absl::CancelledError("the caller cancelled");
  }
  return absl::OkStatus();
}

CallRecord::CallRecord(ServerEnv& env, Method method, CallClass call_class,
                       grpc::CallbackServerContext& context)
    : env_(env),
      method_(method),
      context_(context),
      start_(std::chrono::steady_clock::now()) {
  env_.metrics.CallStarted(method_, call_class);
}

grpc::Status CallRecord::Finish(const absl::Status& status) const {
  const double seconds = SecondsSince(start_);
  env_.metrics.CallHandled(method_, status.code(), seconds);
  const bool log = env_.logger.Enabled(LevelOf(status));
  if (log || !status.ok()) {
    const std::string id = env_.request_ids.Of(context_);
    if (log) Log(status, seconds, id);
    if (!status.ok()) context_.AddTrailingMetadata(kRequestIdHeader, id);
  }
  return ToGrpcStatus(status);
}

void CallRecord::Log(const absl::Status& status, double seconds,
                     const std::string& request_id) const {
  const std::string method =
      absl::StrCat(NamesOf(method_).service, "/", NamesOf(method_).method);
  const std::string code = absl::StatusCodeToString(status.code());
  const std::string peer = context_.peer();
  const std::string reason = status.ok() ? "" : ErrorInfoOf(status).reason();
  const std::string message = Clip(status.message(), 500);
  std::vector<LogField> fields = {{"request_id", request_id},
                                  {"method", method},
                                  {"code", code},
                                  {"handler_seconds", seconds},
                                  {"peer", peer}};
  if (!status.ok()) {
    fields.push_back({"reason", reason});
    fields.push_back({"message", message});
  }
  env_.logger.Log(LevelOf(status), "rpc", fields);
}

void HeavyReactor::OnDone() {
  metrics_.CallDone(CallClass::kHeavy);
  delete this;
}

absl::Status SubmitHeavy(ServerEnv& env, std::function<void()> job) {
  const auto queued = std::chrono::steady_clock::now();
  env.metrics.HeavyQueued();
  const bool accepted =
      env.heavy_pool.Submit([&env, queued, job = std::move(job)] {
        env.metrics.HeavyStarted(SecondsSince(queued));
        job();
      });
  if (accepted) return absl::OkStatus();
  env.metrics.HeavyRejected();
  return TooManyHeavyCalls(env.heavy_pool.queue_limit());
}

}  // namespace mansard::server
