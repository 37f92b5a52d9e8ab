// JSON lines on stderr, one object an event.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace mansard::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
// "debug", "info", "warning", "error", "off".
std::optional<LogLevel> ParseLogLevel(absl::string_view name);

struct LogField {
  absl::string_view key;
  std::variant<absl::string_view, double, int> value;
};

// Thread-safe: a line is one write.
class Logger {
 public:
  explicit Logger(LogLevel level) : level_(level) {}

  bool Enabled(LogLevel level) const { return level >= level_; }
  // {"time":...,"level":...,"event":...,<fields>}. Nothing below the level.
  void Log(LogLevel level, absl::string_view event,
           const std::vector<LogField>& fields) const;

 private:
  LogLevel level_;
};

// The line that Log writes, without its newline.
std::string LogLine(LogLevel level, absl::string_view time,
                    absl::string_view event,
                    const std::vector<LogField>& fields);

}  // namespace mansard::server
