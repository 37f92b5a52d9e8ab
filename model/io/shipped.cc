#include "model/io/shipped.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "mansard/v1/catalog.pb.h"
#include "model/base/id.h"
#include "model/base/status_macros.h"
#include "model/io/embedded.h"
#include "model/io/graph_io.h"

namespace mansard::model {
namespace {

constexpr absl::string_view kExtension = ".textproto";

// "fabrics/broken.textproto:3:9: Expected ..." for every parse error.
class ErrorList : public google::protobuf::io::ErrorCollector {
 public:
  ErrorList(const std::string& path, std::vector<std::string>& errors)
      : path_(path), errors_(errors) {}

  // Lines and columns come counted from 0; editors count from 1.
  void AddError(int line, int column, const std::string& message) override {
    errors_.push_back(
        absl::StrCat(path_, ":", line + 1, ":", column + 1, ": ", message));
  }

 private:
  const std::string& path_;
  std::vector<std::string>& errors_;
};

std::string IdOf(const DataFile& file) {
  const std::string name = file.path.substr(file.path.rfind('/') + 1);
  return name.substr(0, name.rfind(kExtension.data()));
}

// Whether every text in the message is UTF-8, as the wire demands. The text
// format takes other bytes, which no client could read later.
template <class Message>
bool IsUtf8(const Message& message) {
  return Message().ParseFromString(message.SerializeAsString());
}

// Whether the file's message could be read; adds to `errors` where not.
template <class Message>
bool Parse(const DataFile& file, Message& message,
           std::vector<std::string>& errors) {
  if (file.wire) {
    if (message.ParseFromString(file.text)) return true;
    errors.push_back(absl::StrCat(file.path, ": was not embedded whole"));
    return false;
  }
  ErrorList collector(file.path, errors);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  if (!parser.ParseFromString(file.text, &message)) return false;
  if (IsUtf8(message)) return true;
  errors.push_back(absl::StrCat(file.path, ": a text in it is not UTF-8"));
  return false;
}

// Adds each file to `known` as what `make(message, id, violations)` returns of
// it; collects what goes wrong.
template <class Message, class Known, class Make>
void AddFiles(const std::vector<DataFile>& files, Known& known,
              std::vector<std::string>& errors, const Make& make) {
  for (const DataFile& file : files) {
    Message message;
    if (!Parse(file, message, errors)) continue;
    const std::string id = IdOf(file);
    Violations violations;
    if (!IsValidId(id)) {
      violations.Add("",
                     absl::StrCat("the file's name is no id: \"", id, "\""));
    }
    if (known.count(id) > 0) {
      violations.Add("", absl::StrCat("the id \"", id,
                                      "\" is there already; take another"));
    }
    auto value = make(message, id, violations);
    if (value && violations.empty()) known.emplace(id, *std::move(value));
    for (const Violation& violation : violations.all()) {
      errors.push_back(absl::StrCat(file.path, ": ", violation.field,
                                    violation.field.empty() ? "" : ": ",
                                    violation.description));
    }
  }
}

// In shared ownership, as the catalog holds it.
template <class T>
std::optional<std::shared_ptr<const T>> Shared(std::optional<T> value) {
  if (!value) return std::nullopt;
  return std::make_shared<const T>(*std::move(value));
}

std::vector<DataFile> Embedded(const std::vector<EmbeddedFile>& files,
                               absl::string_view folder) {
  std::vector<DataFile> named;
  for (const EmbeddedFile& file : files) {
    named.push_back({absl::StrCat(folder, "/", file.id, kExtension),
                     std::string(file.wire), true});
  }
  return named;
}

// A file that adds stacks to a profile says nothing else of it.
std::optional<v1::HardwareProfile> StacksAlone(const v1::HardwareProfile& proto,
                                               const std::string& /*id*/,
                                               Violations& violations) {
  v1::HardwareProfile rest = proto;
  rest.clear_kernel_stacks();
  if (rest.ByteSizeLong() > 0 || proto.kernel_stacks().empty()) {
    violations.Add("", "must have kernel_stacks and nothing else");
    return std::nullopt;
  }
  return proto;
}

}  // namespace

absl::Status AddData(const DataFiles& files, ShippedData& data) {
  std::vector<std::string> errors;
  AddFiles<v1::Fabric>(
      files.fabrics, data.fabrics, errors,
      [](const v1::Fabric& proto, const std::string& id,
         Violations& violations) {
        if (proto.fabric() != id) {
          violations.Add("fabric",
                         absl::StrCat("is \"", proto.fabric(),
                                      "\"; the file's name says \"", id, "\""));
        }
        return FabricFromProto(proto, violations);
      });
  std::map<std::string, v1::HardwareProfile> stacks;
  AddFiles<v1::HardwareProfile>(files.stacks, stacks, errors, StacksAlone);
  std::map<std::string, v1::HardwareProfile> served;
  AddFiles<v1::HardwareProfile>(files.served, served, errors, StacksAlone);
  AddFiles<v1::HardwareProfile>(
      files.hardware, data.profiles, errors,
      [&](const v1::HardwareProfile& proto, const std::string& id,
          Violations& violations) {
        v1::HardwareProfile whole = proto;
        for (auto* more : {&stacks, &served}) {
          const auto own = more->find(id);
          if (own == more->end()) continue;
          whole.MergeFrom(own->second);
          more->erase(own);
        }
        return Shared(ProfileFromProto(whole, id, data.fabrics, violations));
      });
  const std::pair<const char*,
                  const std::map<std::string, v1::HardwareProfile>*>
      left_over[] = {{"stacks/", &stacks}, {"served/", &served}};
  for (const auto& [folder, more] : left_over) {
    for (const auto& [id, left] : *more) {
      errors.push_back(absl::StrCat(folder, id, kExtension,
                                    ": no hardware file has this name"));
    }
  }
  AddFiles<v1::ModelGraph>(
      files.models, data.graphs, errors,
      [](const v1::ModelGraph& proto, const std::string& id,
         Violations& violations) {
        return Shared(GraphFromProto(proto, id, violations));
      });
  if (errors.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(errors, "\n"));
}

absl::StatusOr<ShippedData> LoadShippedData() {
  ShippedData data;
  RETURN_IF_ERROR(AddData({.fabrics = Embedded(EmbeddedFabrics(), "fabrics"),
                           .hardware = Embedded(EmbeddedHardware(), "hardware"),
                           .models = Embedded(EmbeddedModels(), "models"),
                           .stacks = Embedded(EmbeddedStacks(), "stacks"),
                           .served = Embedded(EmbeddedServed(), "served")},
                          data));
  return data;
}

}  // namespace mansard::model
