#include "calibrate/measure/record.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "rapidjson/document.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace mansard::calibrate {
namespace {

constexpr char kFormat[] = "mansard-calibrate";
constexpr int kVersion = 1;

using Object = rapidjson::Value;

class Line {
 public:
  Line() { writer_.StartObject(); }
  void Text(const char* key, absl::string_view value) {
    writer_.Key(key);
    writer_.String(value.data(),
                   static_cast<rapidjson::SizeType>(value.size()));
  }
  void Number(const char* key, double value) {
    writer_.Key(key);
    // JSON has no infinity.
    if (std::isfinite(value)) {
      writer_.Double(value);
    } else {
      writer_.Null();
    }
  }
  void Count(const char* key, int64_t value) {
    writer_.Key(key);
    writer_.Int64(value);
  }
  void Flag(const char* key, bool value) {
    writer_.Key(key);
    writer_.Bool(value);
  }
  void Begin(const char* key) {
    writer_.Key(key);
    writer_.StartObject();
  }
  void End() { writer_.EndObject(); }
  std::string Take() {
    writer_.EndObject();
    return absl::StrCat(buffer_.GetString(), "\n");
  }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

// Absent is "" and 0.
std::string TextOf(const Object& object, const char* key) {
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsString()) return "";
  return std::string(member->value.GetString(),
                     member->value.GetStringLength());
}
double NumberOf(const Object& object, const char* key) {
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsNumber()) return 0;
  return member->value.GetDouble();
}
bool FlagOf(const Object& object, const char* key) {
  const auto member = object.FindMember(key);
  return member != object.MemberEnd() && member->value.IsTrue();
}

DeviceIdentity DeviceOf(const Object& header) {
  DeviceIdentity device;
  device.backend = TextOf(header, "backend");
  device.name = TextOf(header, "device");
  device.id_hash = TextOf(header, "device_id_hash");
  device.software = TextOf(header, "software");
  device.clock_hertz = NumberOf(header, "clock_hertz");
  device.memory_bytes = NumberOf(header, "memory_bytes");
  device.last_level_cache_bytes = NumberOf(header, "last_level_cache_bytes");
  device.threads = static_cast<int>(NumberOf(header, "threads"));
  const auto notes = header.FindMember("notes");
  if (notes != header.MemberEnd() && notes->value.IsObject()) {
    for (const auto& note : notes->value.GetObject()) {
      if (note.value.IsString()) {
        device.notes[note.name.GetString()] = note.value.GetString();
      }
    }
  }
  return device;
}

absl::StatusOr<Outcome> OutcomeOf(const Object& line) {
  const std::string name = TextOf(line, "outcome");
  for (const Outcome outcome : {Outcome::kMeasured, Outcome::kNoisy,
                                Outcome::kSkipped, Outcome::kFailed}) {
    if (name == OutcomeName(outcome)) return outcome;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "outcome: \"", name, "\"; allowed: measured, noisy, skipped, failed"));
}

absl::StatusOr<CaseResult> ResultOf(const Object& line) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  const auto listed = line.FindMember("sizes");
  if (listed != line.MemberEnd() && listed->value.IsObject()) {
    for (const auto& size : listed->value.GetObject()) {
      sizes.emplace_back(size.name.GetString(),
                         size.value.IsInt64() ? size.value.GetInt64() : 0);
    }
  }
  CaseResult result;
  ASSIGN_OR_RETURN(result.measured,
                   MakeCase(TextOf(line, "kind"), FlagOf(line, "sustained"),
                            sizes, TextOf(line, "format")));
  ASSIGN_OR_RETURN(result.outcome, OutcomeOf(line));
  result.reason = TextOf(line, "reason");
  SampleStatistics& seconds = result.seconds;
  seconds.count = static_cast<size_t>(NumberOf(line, "samples"));
  seconds.median = NumberOf(line, "median_seconds");
  seconds.low = NumberOf(line, "low_seconds");
  seconds.high = NumberOf(line, "high_seconds");
  seconds.deviation = NumberOf(line, "deviation_seconds");
  seconds.outliers = static_cast<size_t>(NumberOf(line, "outliers"));
  seconds.bimodal = FlagOf(line, "bimodal");
  seconds.drift = NumberOf(line, "drift_ratio");
  result.rejected = static_cast<size_t>(NumberOf(line, "rejected"));
  result.clock_hertz = NumberOf(line, "clock_hertz");
  result.run_operations = NumberOf(line, "run_operations");
  const bool has_median =
      seconds.median > 0 && seconds.low > 0 && seconds.high >= seconds.low;
  if (result.outcome == Outcome::kMeasured && !has_median) {
    return absl::InvalidArgumentError(
        "median_seconds, low_seconds, high_seconds: must be above 0 of a "
        "measured case");
  }
  return result;
}

void Keep(CaseResult result, Record& record) {
  for (CaseResult& known : record.results) {
    if (known.measured == result.measured) {
      known = std::move(result);
      return;
    }
  }
  record.results.push_back(std::move(result));
}

absl::Status TakeHeader(const Object& line, bool first, Record& record) {
  if (TextOf(line, "record") != kFormat ||
      NumberOf(line, "version") != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is no header of a \"", kFormat, "\" record, version ", kVersion));
  }
  DeviceIdentity device = DeviceOf(line);
  if (first) {
    record.device = std::move(device);
    record.date = TextOf(line, "date");
    return absl::OkStatus();
  }
  if (device.id_hash != record.device.id_hash ||
      device.backend != record.device.backend) {
    return absl::InvalidArgumentError(
        absl::StrCat("is of the device ", device.id_hash, ", the record of ",
                     record.device.id_hash));
  }
  return absl::OkStatus();
}

absl::Status TakeLine(absl::string_view text, bool first, Record& record) {
  rapidjson::Document line;
  line.Parse(text.data(), text.size());
  if (line.HasParseError() || !line.IsObject()) {
    return absl::InvalidArgumentError("is no JSON object");
  }
  if (first || line.HasMember("record")) {
    return TakeHeader(line, first, record);
  }
  if (!line.HasMember("outcome")) return absl::OkStatus();  // A sample.
  ASSIGN_OR_RETURN(CaseResult result, ResultOf(line));
  Keep(std::move(result), record);
  return absl::OkStatus();
}

}  // namespace

const CaseResult* Record::Find(const Case& measured) const {
  for (const CaseResult& result : results) {
    if (result.measured == measured) return &result;
  }
  return nullptr;
}

std::string HeaderLine(const DeviceIdentity& device, absl::string_view date) {
  Line line;
  line.Text("record", kFormat);
  line.Count("version", kVersion);
  line.Text("backend", device.backend);
  line.Text("date", date);
  line.Text("device", device.name);
  line.Text("device_id_hash", device.id_hash);
  line.Text("software", device.software);
  line.Number("clock_hertz", device.clock_hertz);
  line.Number("memory_bytes", device.memory_bytes);
  line.Number("last_level_cache_bytes", device.last_level_cache_bytes);
  line.Count("threads", device.threads);
  line.Begin("notes");
  for (const auto& [key, value] : device.notes) line.Text(key.c_str(), value);
  line.End();
  return line.Take();
}

std::string SampleLine(const Case& measured, const Sample& sample) {
  Line line;
  line.Text("case", CaseId(measured));
  line.Number("seconds", sample.seconds);
  if (sample.clock_hertz > 0) line.Number("clock_hertz", sample.clock_hertz);
  if (!sample.disturbance.empty()) {
    line.Text("disturbance", sample.disturbance);
  }
  if (!sample.remark.empty()) line.Text("remark", sample.remark);
  return line.Take();
}

std::string ResultLine(const CaseResult& result) {
  Line line;
  line.Text("case", CaseId(result.measured));
  line.Text("kind", CaseKindName(result.measured.kind));
  line.Begin("sizes");
  for (const auto& [name, size] : SizesOf(result.measured)) {
    line.Count(name.c_str(), size);
  }
  line.End();
  if (result.measured.format != model::Format::kFp32) {
    line.Text("format", model::TraitsOf(result.measured.format).name);
  }
  line.Flag("sustained", result.measured.sustained);
  line.Text("outcome", OutcomeName(result.outcome));
  line.Text("reason", result.reason);
  const SampleStatistics& seconds = result.seconds;
  line.Count("samples", static_cast<int64_t>(seconds.count));
  line.Number("median_seconds", seconds.median);
  line.Number("low_seconds", seconds.low);
  line.Number("high_seconds", seconds.high);
  line.Number("deviation_seconds", seconds.deviation);
  line.Count("outliers", static_cast<int64_t>(seconds.outliers));
  line.Flag("bimodal", seconds.bimodal);
  line.Number("drift_ratio", seconds.drift);
  line.Count("rejected", static_cast<int64_t>(result.rejected));
  line.Number("clock_hertz", result.clock_hertz);
  line.Number("run_operations", result.run_operations);
  return line.Take();
}

absl::StatusOr<Record> ReadRecord(absl::string_view text) {
  Record record;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) break;
    ++number;
    const absl::Status status =
        TakeLine(text.substr(0, end), number == 1, record);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", status.message()));
    }
    text.remove_prefix(end + 1);
  }
  if (number == 0) {
    return absl::InvalidArgumentError("line 1: the header is missing");
  }
  return record;
}

}  // namespace mansard::calibrate
