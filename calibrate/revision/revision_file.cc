#include "calibrate/revision/revision_file.h"

#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

constexpr int kMaxDepth = 32;
constexpr char kStackLine[] = "# proto-message: mansard.v1.KernelStack\n";

// The first thing wrong; lines and columns come counted from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class Message>
absl::StatusOr<Message> Parse(absl::string_view text) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  Message message;
  if (parser.ParseFromString(std::string(text), &message)) return message;
  return absl::InvalidArgumentError(absl::StrCat(
      error.text(), " (read as ", Message::descriptor()->full_name(), ")"));
}

}  // namespace

absl::StatusOr<v1::HardwareProfile> ParseRevision(absl::string_view text) {
  v1::HardwareProfile profile;
  if (absl::StrContains(text, kStackLine)) {
    ASSIGN_OR_RETURN(*profile.add_kernel_stacks(),
                     Parse<v1::KernelStack>(text));
    return profile;
  }
  return Parse<v1::HardwareProfile>(text);
}

absl::StatusOr<v1::HardwareProfile> ReadRevision(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(kMaxRevisionBytes) + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > static_cast<size_t>(kMaxRevisionBytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, ": is larger than ", kMaxRevisionBytes, " bytes"));
  }
  absl::StatusOr<v1::HardwareProfile> profile = ParseRevision(text);
  if (profile.ok()) return profile;
  return absl::Status(profile.status().code(),
                      absl::StrCat(path, ": ", profile.status().message()));
}

}  // namespace mansard::calibrate
