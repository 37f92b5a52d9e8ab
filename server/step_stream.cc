#include "server/step_stream.h"

#include <string>

#include "server/call_class.h"
#include "server/error.h"

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
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    working_ = true;
  }
  const std::string& engine =
      request_.engine().empty() ? stream_.engine : request_.engine();
  if (ClassOf(request_, engine, *env_.catalog->state()) == CallClass::kHot) {
    Answer();
    return;
  }
  const absl::Status queued = SubmitHeavy(env_, [this] { Answer(); });
  if (!queued.ok()) Refuse(queued);
}

void StepStreamReactor::Answer() {
  CallContext call(env_, context_);
  const absl::Status alive = call.CheckAlive();
  if (alive.ok()) {
    PredictStep(call, stream_, request_, response_);
  } else {
    End(alive);
  }
  Send();
}

void StepStreamReactor::Refuse(const absl::Status& error) {
  if (!request_.engine().empty()) stream_.engine = request_.engine();
  response_.Clear();
  response_.set_correlation_id(request_.correlation_id());
  *response_.mutable_error() = ToRpcStatus(error);
  Send();
}

void StepStreamReactor::Send() {
  const std::lock_guard lock(mutex_);
  working_ = false;
  if (ended_) {
    Finish(ToGrpcStatus(end_));
    return;
  }
  env_.metrics.MessageAnswered(Method::kStreamPredictions);
  StartWrite(&response_);
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
  end_ = status;
  if (!working_) Finish(ToGrpcStatus(status));
}

void StepStreamReactor::OnDone() {
  // Reads of a caller that is gone end as those of one that has no more to say.
  record_.Finish(end_.ok() && context_.IsCancelled()
                     ? absl::CancelledError("the caller cancelled")
                     : end_);
  env_.streams.Remove(this);
  env_.metrics.CallDone(CallClass::kHot);
  delete this;
}

}  // namespace mansard::server
