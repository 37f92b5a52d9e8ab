// A program run by a test: started, read, signalled and always ended, by its
// process id.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mansard::testing {

class Process {
 public:
  // `environment` is added to the test's own.
  explicit Process(const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& environment = {});
  // Kills it where it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Signal(int number) const;
  // The next line of its stdout and stderr. Nothing: it has ended, or no line
  // came in 20 s.
  std::optional<std::string> ReadLine();
  // Reads lines until one holds `text`.
  std::optional<std::string> ReadUntil(const std::string& text);
  // Its exit code, once it has ended; -1 when it was ended by a signal or does
  // not end in 30 s. Reads what it still writes.
  int Wait();
  // All it wrote so far.
  const std::string& output() const { return output_; }

 private:
  pid_t pid_ = -1;
  int output_fd_ = -1;
  std::string output_;
  size_t line_start_ = 0;

  bool ReadMore(int timeout_ms);
};

// mansardd on free loopback ports, ready to answer.
struct ServerProcess {
  explicit ServerProcess(const std::vector<std::string>& flags);

  Process process;
  // "127.0.0.1:port"; empty when it did not start.
  std::string address;
  std::string metrics_address;
};

// Path of mansardd.
std::string ServerBinary();

}  // namespace mansard::testing
