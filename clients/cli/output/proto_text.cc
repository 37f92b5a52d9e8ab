#include "clients/cli/output/proto_text.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/command_status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"

namespace mansard::cli {
namespace {

// Deeper text is no message of ours.
constexpr int kMaxDepth = 64;

// Keeps the first error; later ones mostly follow from it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) {
      text_ = absl::StrCat(line + 1, ":", column + 1, ": ", message);
    }
  }
  void AddWarning(int, int, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::StatusOr<std::string> JsonText(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) {
    return Failed(absl::StrCat("The answer is no valid JSON: ",
                               std::string(status.message())));
  }
  return text;
}

std::string DataFileText(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  printer.SetUseShortRepeatedPrimitives(true);
  std::string body;
  printer.PrintToString(message, &body);
  return absl::StrCat(
      "# proto-file: ", message.GetDescriptor()->file()->name(),
      "\n# proto-message: ", message.GetDescriptor()->full_name(), "\n", body);
}

absl::Status ParseDataFile(absl::string_view name, const std::string& text,
                           google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(text, message)) return absl::OkStatus();
  return Failed(absl::StrCat(name, ":", error.text(), " (read as textproto ",
                             message->GetDescriptor()->full_name(), ")"));
}

absl::Status ParseJson(absl::string_view name, const std::string& text,
                       google::protobuf::Message* message) {
  const auto status =
      google::protobuf::util::JsonStringToMessage(text, message);
  if (status.ok()) return absl::OkStatus();
  return Failed(absl::StrCat(name, ": ", std::string(status.message()),
                             " (read as JSON ",
                             message->GetDescriptor()->full_name(), ")"));
}

}  // namespace mansard::cli
