#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"

namespace mansard::testing {
namespace {

constexpr int kLineTimeoutMs = 20'000;
constexpr int kExitTimeoutMs = 30'000;
constexpr int kPipeBytes = 1 << 20;

// The child: never returns.
[[noreturn]] void Run(const std::vector<std::string>& command,
                      const std::map<std::string, std::string>& environment,
                      int output_fd) {
  dup2(output_fd, STDOUT_FILENO);
  dup2(output_fd, STDERR_FILENO);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

// The number after `"key":` in a log line; 0 where there is none.
int NumberAfter(const std::string& line, const std::string& key) {
  const size_t at = line.find(absl::StrCat("\"", key, "\":"));
  if (at == std::string::npos) return 0;
  return std::atoi(line.c_str() + at + key.size() + 3);
}

std::vector<std::string> ServerCommand(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {ServerBinary(), "--listen=127.0.0.1:0",
                                      "--metrics_listen=127.0.0.1:0",
                                      "--drain_delay=0s"};
  command.insert(command.end(), flags.begin(), flags.end());
  return command;
}

}  // namespace

Process::Process(const std::vector<std::string>& command,
                 const std::map<std::string, std::string>& environment) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  // A server that logs a line a call must not wait for a test that reads later.
  fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  pid_ = fork();
  if (pid_ == 0) Run(command, environment, ends[1]);
  close(ends[1]);
  output_fd_ = ends[0];
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (output_fd_ >= 0) close(output_fd_);
}

void Process::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

bool Process::ReadMore(int timeout_ms) {
  pollfd waited = {output_fd_, POLLIN, 0};
  if (poll(&waited, 1, timeout_ms) <= 0) return false;
  char block[4096];
  const ssize_t count = read(output_fd_, block, sizeof(block));
  if (count <= 0) return false;
  output_.append(block, static_cast<size_t>(count));
  return true;
}

std::optional<std::string> Process::ReadLine() {
  size_t end = 0;
  while ((end = output_.find('\n', line_start_)) == std::string::npos) {
    if (!ReadMore(kLineTimeoutMs)) return std::nullopt;
  }
  std::string line = output_.substr(line_start_, end - line_start_);
  line_start_ = end + 1;
  return line;
}

std::optional<std::string> Process::ReadUntil(const std::string& text) {
  while (auto line = ReadLine()) {
    if (line->find(text) != std::string::npos) return line;
  }
  return std::nullopt;
}

int Process::Wait() {
  using std::chrono::steady_clock;
  const auto deadline =
      steady_clock::now() + std::chrono::milliseconds(kExitTimeoutMs);
  int status = 0;
  while (steady_clock::now() < deadline) {
    if (!ReadMore(10))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      while (ReadMore(0)) {
      }
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
  }
  return -1;
}

ServerProcess::ServerProcess(const std::vector<std::string>& flags)
    : process(ServerCommand(flags)) {
  const auto line = process.ReadUntil("\"event\":\"serving\"");
  if (!line.has_value()) return;
  address = absl::StrCat("127.0.0.1:", NumberAfter(*line, "port"));
  metrics_address =
      absl::StrCat("127.0.0.1:", NumberAfter(*line, "metrics_port"));
}

std::string ServerBinary() { return MANSARDD_PATH; }

}  // namespace mansard::testing
