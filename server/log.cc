#include "server/log.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mansard::server {
namespace {

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      return "off";
  }
  return "";
}

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void WriteString(JsonWriter& writer, absl::string_view text) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

struct ValueWriter {
  JsonWriter& writer;
  void operator()(absl::string_view text) const { WriteString(writer, text); }
  void operator()(double number) const { writer.Double(number); }
  void operator()(int number) const { writer.Int(number); }
};

}  // namespace

std::optional<LogLevel> ParseLogLevel(absl::string_view name) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                         LogLevel::kError, LogLevel::kOff}) {
    if (name == LevelName(level)) return level;
  }
  return std::nullopt;
}

std::string LogLine(LogLevel level, absl::string_view time,
                    absl::string_view event,
                    const std::vector<LogField>& fields) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writer.Key("time");
  WriteString(writer, time);
  writer.Key("level");
  WriteString(writer, LevelName(level));
  writer.Key("event");
  WriteString(writer, event);
  for (const LogField& field : fields) {
    writer.Key(field.key.data(),
               static_cast<rapidjson::SizeType>(field.key.size()));
    std::visit(ValueWriter{writer}, field.value);
  }
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

void Logger::Log(LogLevel level, absl::string_view event,
                 const std::vector<LogField>& fields) const {
  if (!Enabled(level)) return;
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(),
                                            absl::UTCTimeZone());
  std::string line = LogLine(level, time, event, fields);
  line.push_back('\n');
  // A line that cannot be written is lost: there is nowhere to say so.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace mansard::server
