#include "model/io/shipped.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "mansard/v1/catalog.pb.h"
#include "model/io/graph_io.h"

namespace mansard::model {
namespace {

// "fabrics/broken.textproto:3:9: Expected ..." for every parse error.
class ErrorList : public google::protobuf::io::ErrorCollector {
 public:
  ErrorList(const std::string& file, std::vector<std::string>& errors)
      : file_(file), errors_(errors) {}

  // Lines and columns come counted from 0; editors count from 1.
  void AddError(int line, int column, const std::string& message) override {
    errors_.push_back(
        absl::StrCat(file_, ":", line + 1, ":", column + 1, ": ", message));
  }

 private:
  const std::string& file_;
  std::vector<std::string>& errors_;
};

// Parses every file as a Message and hands it to `add(id, message,
// violations)`; collects what goes wrong, with the file's name.
template <class Message, class Add>
void LoadFiles(const std::vector<EmbeddedFile>& files, absl::string_view folder,
               std::vector<std::string>& errors, const Add& add) {
  for (const EmbeddedFile& file : files) {
    const std::string name = absl::StrCat(folder, "/", file.id, ".textproto");
    ErrorList collector(name, errors);
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    Message message;
    if (!parser.ParseFromString(std::string(file.text), &message)) continue;
    Violations violations;
    add(std::string(file.id), message, violations);
    for (const Violation& violation : violations.all()) {
      errors.push_back(absl::StrCat(name, ": ", violation.field, ": ",
                                    violation.description));
    }
  }
}

}  // namespace

absl::StatusOr<ShippedData> LoadData(const std::vector<EmbeddedFile>& fabrics,
                                     const std::vector<EmbeddedFile>& hardware,
                                     const std::vector<EmbeddedFile>& models) {
  ShippedData data;
  std::vector<std::string> errors;
  LoadFiles<v1::Fabric>(
      fabrics, "fabrics", errors,
      [&](const std::string& id, const v1::Fabric& proto,
          Violations& violations) {
        if (proto.fabric() != id) {
          violations.Add("fabric",
                         absl::StrCat("is \"", proto.fabric(),
                                      "\"; the file's name says \"", id, "\""));
        }
        std::optional<Fabric> fabric = FabricFromProto(proto, violations);
        if (fabric) data.fabrics.emplace(id, *std::move(fabric));
      });
  LoadFiles<v1::HardwareProfile>(
      hardware, "hardware", errors,
      [&](const std::string& id, const v1::HardwareProfile& proto,
          Violations& violations) {
        std::optional<HardwareProfile> profile =
            ProfileFromProto(proto, id, data.fabrics, violations);
        if (!profile) return;
        data.profiles.emplace(
            id, std::make_shared<const HardwareProfile>(*std::move(profile)));
      });
  LoadFiles<v1::ModelGraph>(
      models, "models", errors,
      [&](const std::string& id, const v1::ModelGraph& proto,
          Violations& violations) {
        std::optional<ModelGraph> graph = GraphFromProto(proto, id, violations);
        if (!graph) return;
        data.graphs.emplace(
            id, std::make_shared<const ModelGraph>(*std::move(graph)));
      });
  if (!errors.empty()) {
    return absl::InternalError(absl::StrJoin(errors, "\n"));
  }
  return data;
}

absl::StatusOr<ShippedData> LoadShippedData() {
  return LoadData(EmbeddedFabrics(), EmbeddedHardware(), EmbeddedModels());
}

}  // namespace mansard::model
