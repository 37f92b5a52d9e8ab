// mansardd: flags -> options -> server -> signal -> drain.
#include <grpc/support/log.h>
#include <signal.h>

#include <iostream>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/flags.h"
#include "server/log.h"
#include "server/server.h"

namespace {

constexpr int kUsageError = 2;

int Fail(const absl::Status& status, int exit_code) {
  std::cerr << "mansardd: " << status.message() << "\n";
  return exit_code;
}

// Blocks the signals that stop the server, in this thread and all that it will
// start, so that StopSignal gets them.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // A log reader that goes away is no reason to die.
  return signals;
}

// What gRPC itself has to say, in our form.
void LogGrpc(gpr_log_func_args* line) {
  using mansard::server::LogLevel;
  const LogLevel level = line->severity == GPR_LOG_SEVERITY_ERROR
                             ? LogLevel::kError
                             : LogLevel::kInfo;
  mansard::server::Logger(LogLevel::kInfo)
      .Log(level, "grpc", {{"message", line->message}, {"file", line->file}});
}

void AwaitStopSignal(const sigset_t& signals) {
  int signal_number = 0;
  sigwait(&signals, &signal_number);
}

}  // namespace

int main(int argc, char** argv) {
  // Debian's Abseil is built with its checks: without this it looks for
  // deadlocks at every lock that gRPC takes.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  gpr_set_log_function(LogGrpc);
  const sigset_t signals = BlockStopSignals();
  const auto options = mansard::server::OptionsFromCommandLine(argc, argv);
  if (!options.ok()) return Fail(options.status(), kUsageError);
  const auto server = mansard::server::Server::Create(*options);
  if (!server.ok()) return Fail(server.status(), 1);
  AwaitStopSignal(signals);
  (*server)->Drain();
  (*server)->Wait();
  return 0;
}
