#include "server/flags.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/commit.h"
#include "server/heavy_pool.h"
#include "server/log.h"
#include "server/version.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:7447",
          "Where gRPC is served: loopback host:port, or unix:/path.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464",
          "Where /metrics, /healthz and /readyz are served: loopback "
          "host:port. Empty: nowhere.");
ABSL_FLAG(std::string, catalog_dir, "",
          "Folder of further models/, hardware/ and fabrics/ *.textproto "
          "files. Empty: none.");
ABSL_FLAG(std::string, state_dir, "",
          "Folder in which writes to the catalog are kept, of one server at a "
          "time. Empty: $STATE_DIRECTORY, which systemd sets; else nowhere.");
ABSL_FLAG(absl::Duration, drain_delay, absl::Seconds(5),
          "On SIGTERM: time between NOT_SERVING and shutting down.");
ABSL_FLAG(absl::Duration, drain_deadline, absl::Seconds(20),
          "On SIGTERM: longest wait for running calls after that.");
ABSL_FLAG(int, heavy_threads, mansard::server::DefaultHeavyThreads(),
          "Threads of low priority for calls that may take long: large "
          "batches, rooflines, imports.");
ABSL_FLAG(int, heavy_queue, 64,
          "Such calls that may wait; beyond, RESOURCE_EXHAUSTED is answered.");
ABSL_FLAG(std::string, log_level, "info",
          "debug, info (one line a call), warning, error or off.");

namespace mansard::server {
namespace {

constexpr const char* kFlags[] = {
    "listen",        "metrics_listen", "catalog_dir",
    "state_dir",     "drain_delay",    "drain_deadline",
    "heavy_threads", "heavy_queue",    "log_level"};

constexpr int kMaxHeavyThreads = 1024;
constexpr int kMaxHeavyQueue = 100'000;

absl::Status TakeEnvironment() {
  for (const char* name : kFlags) {
    const std::string variable =
        absl::StrCat("MANSARD_", absl::AsciiStrToUpper(name));
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr) continue;
    std::string error;
    if (!absl::FindCommandLineFlag(name)->ParseFrom(value, &error)) {
      return absl::InvalidArgumentError(
          absl::StrCat(variable, "=\"", value, "\": ", error));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDuration(absl::string_view flag, absl::Duration value) {
  if (value >= absl::ZeroDuration() && value <= absl::Hours(24)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--", flag, " is ", absl::FormatDuration(value), "; allowed: 0s to 24h"));
}

absl::Status CheckCount(absl::string_view flag, int value, int least,
                        int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", flag, " is ", value, "; allowed: ", least, " to ", most));
}

void SetUsage() {
  absl::SetProgramUsageMessage(
      "Answers how long an LLM inference pass takes, over gRPC.\n"
      "Every flag is also an environment variable: MANSARD_LISTEN for "
      "--listen.");
  absl::FlagsUsageConfig usage;
  usage.version_string = [] {
    return absl::StrCat("mansardd ", kVersion, " (commit ", kCommit, ")\n");
  };
  usage.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "server/flags.cc");
  };
  absl::SetFlagsUsageConfig(usage);
}

}  // namespace

absl::StatusOr<ServerOptions> OptionsFromCommandLine(int argc, char** argv) {
  SetUsage();
  if (absl::Status status = TakeEnvironment(); !status.ok()) return status;
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  if (words.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", words[1], "\""));
  }
  ServerOptions options;
  options.commit = kCommit;
  options.listen_address = absl::GetFlag(FLAGS_listen);
  options.metrics_address = absl::GetFlag(FLAGS_metrics_listen);
  options.catalog_dir = absl::GetFlag(FLAGS_catalog_dir);
  options.state_dir = absl::GetFlag(FLAGS_state_dir);
  const char* const systemd = std::getenv("STATE_DIRECTORY");
  if (options.state_dir.empty() && systemd != nullptr) {
    options.state_dir = systemd;
  }
  options.drain_delay = absl::GetFlag(FLAGS_drain_delay);
  options.drain_deadline = absl::GetFlag(FLAGS_drain_deadline);
  options.heavy_threads = absl::GetFlag(FLAGS_heavy_threads);
  options.heavy_queue = absl::GetFlag(FLAGS_heavy_queue);
  for (const absl::Status& status :
       {CheckDuration("drain_delay", options.drain_delay),
        CheckDuration("drain_deadline", options.drain_deadline),
        CheckCount("heavy_threads", options.heavy_threads, 1, kMaxHeavyThreads),
        CheckCount("heavy_queue", options.heavy_queue, 0, kMaxHeavyQueue)}) {
    if (!status.ok()) return status;
  }
  if (options.listen_address.empty()) {
    return absl::InvalidArgumentError("--listen is empty");
  }
  const std::optional<LogLevel> level =
      ParseLogLevel(absl::GetFlag(FLAGS_log_level));
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_level \"", absl::GetFlag(FLAGS_log_level),
                     "\"; allowed: debug, info, warning, error, off"));
  }
  options.log_level = *level;
  return options;
}

}  // namespace mansard::server
