// The door of StreamPredictions: one answer a message, in order.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <mutex>

#include "mansard/v1/scheduling_service.pb.h"
#include "server/env.h"
#include "server/handlers/scheduling.h"
#include "server/open_streams.h"
#include "server/rpc.h"

namespace mansard::server {

// Deletes itself. Reads the next message once the answer to the last is on its
// way: a caller that does not read stops the stream, not the server. A message
// whose pass takes long is answered on the pool for heavy calls.
class StepStreamReactor final
    : public grpc::ServerBidiReactor<v1::StreamPredictionsRequest,
                                     v1::StreamPredictionsResponse>,
      public OpenStreams::Stream {
 public:
  StepStreamReactor(ServerEnv& env, grpc::CallbackServerContext& context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void EndForDrain() override;

 private:
  // Answers the message that was read.
  void Answer();
  // The message that was read is not answered: `error` says why.
  void Refuse(const absl::Status& error);
  // The answer is there: it leaves, unless the end came meanwhile.
  void Send();
  // Once; later ones do nothing. Waits for the message that is worked on.
  void End(const absl::Status& status);

  ServerEnv& env_;
  grpc::CallbackServerContext& context_;
  const CallRecord record_;
  StepStream stream_;
  v1::StreamPredictionsRequest request_;
  v1::StreamPredictionsResponse response_;

  std::mutex mutex_;  // No reads and writes start after the end.
  bool working_ = false;
  bool ended_ = false;
  absl::Status end_;  // That waits for the work.
};

}  // namespace mansard::server
