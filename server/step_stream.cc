#include "server/step_stream.h"

namespace mansard::server {

StepStreamReactor::StepStreamReactor(ServerEnv& env,
                                     grpc::CallbackServerContext& context)
    : env_(env),
      context_(context),
      record_(env, Method::kStreamPredictions, CallClass::kHot, context) {
  if (env_.streams.Add(this)) {
    StartRead(&request_);
  } else {
    EndForDrain();
  }
}

void StepStreamReactor::OnReadDone(bool ok) {
  if (!ok) {
    End(absl::OkStatus());  // The caller has sent its last message.
    return;
  }
  CallContext call(env_, context_);
  const absl::Status alive = call.CheckAlive();
  if (!alive.ok()) {
    End(alive);
    return;
  }
  PredictStep(call, stream_, request_, response_);
  env_.metrics.MessageAnswered(Method::kStreamPredictions);
  const std::lock_guard lock(mutex_);
  if (!ended_) StartWrite(&response_);
}

void StepStreamReactor::OnWriteDone(bool ok) {
  if (!ok) {
    End(absl::CancelledError("the caller is gone"));
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!ended_) StartRead(&request_);
}

void StepStreamReactor::OnCancel() {
  End(absl::CancelledError("the caller cancelled"));
}

void StepStreamReactor::EndForDrain() {
  End(absl::UnavailableError("the server stops; connect again"));
}

void StepStreamReactor::End(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  ended_ = true;
  Finish(record_.Finish(status));
}

void StepStreamReactor::OnDone() {
  env_.streams.Remove(this);
  env_.metrics.CallDone(CallClass::kHot);
  delete this;
}

}  // namespace mansard::server
