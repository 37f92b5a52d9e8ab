#include "calibrate/revision/calibration_text.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "calibrate/revision/revision_file.h"
#include "google/protobuf/text_format.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

// The message belongs to the services, whose library brings gRPC: its text is
// written without it.
class Writer {
 public:
  explicit Writer(std::string indent) : indent_(std::move(indent)) {}
  void Text(const char* field, absl::string_view value) {
    if (value.empty()) return;
    absl::StrAppend(&out_, indent_, field, ": \"", absl::Utf8SafeCEscape(value),
                    "\"\n");
  }
  // What is not known, or no number, is left out.
  void Number(const char* field, double value) {
    if (!(value > 0) || !std::isfinite(value)) return;
    absl::StrAppendFormat(&out_, "%s%s: %.6g\n", indent_, field, value);
  }
  void Count(const char* field, size_t value) {
    if (value == 0) return;
    absl::StrAppend(&out_, indent_, field, ": ", value, "\n");
  }
  void Name(const char* field, const char* value) {
    absl::StrAppend(&out_, indent_, field, ": ", value, "\n");
  }
  const std::string& out() const { return out_; }

 private:
  std::string indent_;
  std::string out_;
};

const char* OutcomeField(Outcome outcome) {
  switch (outcome) {
    case Outcome::kMeasured:
      return "OUTCOME_MEASURED";
    case Outcome::kNoisy:
      return "OUTCOME_UNSTABLE";
    case Outcome::kSkipped:
      return "OUTCOME_WAIVED";
    case Outcome::kFailed:
      return "OUTCOME_FAILED";
  }
  return "";
}

std::string MeasurementText(const CaseResult& result) {
  const bool measured = result.outcome == Outcome::kMeasured;
  Writer writer("  ");
  writer.Text("case", CaseId(result.measured));
  writer.Text("op_kind", CaseKindName(result.measured.kind));
  if (result.seconds.count > 0) {
    writer.Number("median_seconds", result.seconds.median);
    writer.Number("relative_spread_ratio", result.seconds.RelativeHalfWidth());
    writer.Count("sample_count", result.seconds.count);
  }
  writer.Count("discarded_sample_count", result.rejected);
  writer.Number("flops", result.run_operations);
  writer.Number("moved_bytes", MovedBytes(result.measured));
  writer.Name("outcome", OutcomeField(result.outcome));
  // Of measured cases it tells what was seen on the way, not why there is none.
  if (!measured) writer.Text("reason", result.reason);
  return absl::StrCat("measurements {\n", writer.out(), "}\n");
}

std::string Indented(const std::string& text) {
  std::string indented;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&indented, "  ", line, "\n");
  }
  return indented;
}

std::string Note(const DeviceIdentity& device, const char* name) {
  const auto found = device.notes.find(name);
  return found == device.notes.end() ? "" : found->second;
}

}  // namespace

absl::StatusOr<std::string> CalibrationText(
    const Record& record, const v1::HardwareProfile& profile) {
  if (profile.kernel_stacks().empty()) {
    return absl::InvalidArgumentError("the profile has no stack");
  }
  std::string text = absl::StrCat(
      "# proto-file: mansard/v1/calibration_service.proto\n"
      "# proto-message: mansard.v1.Calibration\n"
      "# Written by mansard-calibrate run, ",
      record.date, ".\n");
  Writer head("");
  head.Text("device_hash", record.device.id_hash);
  head.Text("driver_version", Note(record.device, "driver"));
  head.Text("cuda_version", Note(record.device, "cuda"));
  absl::StrAppend(&text, head.out());
  for (const CaseResult& result : record.results) {
    absl::StrAppend(&text, MeasurementText(result));
  }
  std::string stack;
  google::protobuf::TextFormat::PrintToString(profile.kernel_stacks(0), &stack);
  return absl::StrCat(text, "fitted_stack {\n", Indented(stack), "}\n");
}

absl::Status WriteCalibration(const std::string& directory,
                              const std::string& record_file,
                              const std::string& profile_file) {
  const std::string record_path = absl::StrCat(directory, "/", record_file);
  std::ifstream file(record_path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(record_path, ": cannot be read"));
  }
  const std::string lines((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
  ASSIGN_OR_RETURN(const Record record, ReadRecord(lines));
  ASSIGN_OR_RETURN(const v1::HardwareProfile profile,
                   ReadRevision(absl::StrCat(directory, "/", profile_file)));
  ASSIGN_OR_RETURN(const std::string text, CalibrationText(record, profile));
  // The name is taken only once all is written.
  const std::string path = absl::StrCat(directory, "/", kCalibrationFile);
  const std::string part = absl::StrCat(path, ".part");
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  if (out && std::rename(part.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(path, ": cannot be written"));
}

}  // namespace mansard::calibrate
