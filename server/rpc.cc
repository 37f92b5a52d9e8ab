#include "server/rpc.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mansard::server {
namespace {

// Failures that are ours, not the caller's.
bool IsServerFault(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal ||
         code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

LogLevel LevelOf(const absl::Status& status) {
  return IsServerFault(status.code()) ? LogLevel::kError : LogLevel::kInfo;
}

}  // namespace

CallContext::CallContext(ServerEnv& env,
                         const grpc::CallbackServerContext& context)
    : env_(env), context_(context), snapshot_(env.snapshot) {}

absl::Status CallContext::CheckAlive() const {
  if (context_.deadline() <= std::chrono::system_clock::now()) {
    return absl::DeadlineExceededError("the deadline has passed");
  }
  if (context_.IsCancelled()) {
    return absl::CancelledError("the caller cancelled");
  }
  return absl::OkStatus();
}

void CountedReactor::OnDone() {
  metrics_.CallDone();
  delete this;
}

CallRecord::CallRecord(ServerEnv& env, Method method,
                       const grpc::CallbackServerContext& context)
    : env_(env),
      method_(method),
      context_(context),
      start_(std::chrono::steady_clock::now()) {
  env_.metrics.CallStarted(method_);
}

grpc::Status CallRecord::Finish(const absl::Status& status) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_)
          .count();
  env_.metrics.CallHandled(method_, status.code(), seconds);
  const LogLevel level = LevelOf(status);
  if (env_.logger.Enabled(level)) {
    const std::string method =
        absl::StrCat(NamesOf(method_).service, "/", NamesOf(method_).method);
    const std::string code = absl::StatusCodeToString(status.code());
    const std::string peer = context_.peer();
    const std::string reason = status.ok() ? "" : ErrorInfoOf(status).reason();
    const std::string message = Clip(status.message(), 500);
    std::vector<LogField> fields = {{"method", method},
                                    {"code", code},
                                    {"handler_seconds", seconds},
                                    {"peer", peer}};
    if (!status.ok()) {
      fields.push_back({"reason", reason});
      fields.push_back({"message", message});
    }
    env_.logger.Log(level, "rpc", fields);
  }
  return ToGrpcStatus(status);
}

}  // namespace mansard::server
