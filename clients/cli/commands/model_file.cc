#include "clients/cli/commands/model_file.h"

#include <google/protobuf/struct.pb.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/input.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

std::string NameOf(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

// Largest side files read, and the largest that the service takes.
constexpr int64_t kMaxIndexBytes = 64'000'000;
constexpr int64_t kMaxQuantizationBytes = 2'000'000;

// A file of a folder; empty where `path` is no folder or has no such file.
absl::StatusOr<std::string> ReadBeside(const std::string& path,
                                       const char* name, int64_t max_bytes) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::path(path) / name;
  if (!std::filesystem::is_directory(path, ignored) ||
      !std::filesystem::is_regular_file(file, ignored)) {
    return std::string();
  }
  return ReadInput(file.string(), max_bytes);
}

// Its metadata alone: an index names every tensor of a checkpoint.
absl::StatusOr<std::string> ReadIndex(const std::string& path) {
  constexpr const char* kName = "model.safetensors.index.json";
  const auto text = ReadBeside(path, kName, kMaxIndexBytes);
  if (!text.ok() || text->empty()) return text;
  google::protobuf::Struct index;
  const absl::Status parsed = ParseJson(kName, *text, &index);
  if (!parsed.ok()) return parsed;
  index.mutable_fields()->erase("weight_map");
  return JsonText(index);
}

absl::StatusOr<v1::ImportHuggingFaceConfigResponse> ImportText(
    const Session& session, const std::string& path, const std::string& text) {
  if (static_cast<int64_t>(text.size()) > kMaxConfigBytes) {
    return Failed(absl::StrCat("Cannot read ", NameOf(path), ": larger than ",
                               kMaxConfigBytes, " bytes, the limit"));
  }
  v1::ImportHuggingFaceConfigRequest request;
  request.set_config_json(text);
  const absl::StatusOr<std::string> quantization =
      ReadBeside(path, "hf_quant_config.json", kMaxQuantizationBytes);
  if (!quantization.ok()) return quantization.status();
  request.set_hf_quant_config_json(*quantization);
  const absl::StatusOr<std::string> index = ReadIndex(path);
  if (!index.ok()) return index.status();
  request.set_safetensors_index_json(*index);
  v1::ImportHuggingFaceConfigResponse response;
  const absl::Status status = session.Call(
      session.client().catalog(),
      &v1::CatalogService::Stub::ImportHuggingFaceConfig, request, &response,
      [&path](const std::string& field) {
        if (field == "hf_quant_config_json")
          return path + "/hf_quant_config.json";
        if (field == "safetensors_index_json") {
          return path + "/model.safetensors.index.json";
        }
        return field == "config_json" ? NameOf(path) : std::string();
      });
  if (!status.ok()) return status;
  return response;
}

}  // namespace

absl::StatusOr<v1::ImportHuggingFaceConfigResponse> LoadModelFile(
    const Session& session, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadInput(path, kMaxDataFileBytes);
  if (!text.ok()) return text.status();
  v1::ImportHuggingFaceConfigResponse loaded;
  if (!LooksLikeJson(*text)) {
    const absl::Status parsed =
        ParseDataFile(NameOf(path), *text, loaded.mutable_model_graph());
    if (!parsed.ok()) return parsed;
    ClearOutputOnly(loaded.mutable_model_graph());
    return loaded;
  }
  // Every config.json has keys that our messages lack, so what parses is ours.
  v1::ModelGraph graph;
  if (ParseJson(path, *text, &graph).ok() && graph.layer_kinds_size() > 0) {
    *loaded.mutable_model_graph() = graph;
  } else if (!ParseJson(path, *text, &loaded).ok() ||
             !loaded.has_model_graph()) {
    return ImportText(session, path, *text);
  }
  ClearOutputOnly(loaded.mutable_model_graph());
  return loaded;
}

absl::StatusOr<v1::ImportHuggingFaceConfigResponse> ImportConfig(
    const Session& session, const std::string& path) {
  const absl::StatusOr<std::string> text = ReadInput(path, kMaxConfigBytes);
  if (!text.ok()) return text.status();
  return ImportText(session, path, *text);
}

absl::StatusOr<v1::HardwareProfile> LoadHardwareFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadInput(path, kMaxDataFileBytes);
  if (!text.ok()) return text.status();
  v1::HardwareProfile profile;
  const absl::Status parsed =
      LooksLikeJson(*text) ? ParseJson(NameOf(path), *text, &profile)
                           : ParseDataFile(NameOf(path), *text, &profile);
  if (!parsed.ok()) return parsed;
  ClearOutputOnly(&profile);
  return profile;
}

absl::StatusOr<v1::ModelGraph> GetModelGraph(const Session& session,
                                             const std::string& id) {
  v1::GetModelGraphRequest request;
  request.set_name(
      absl::StrContains(id, '/') ? id : absl::StrCat("modelGraphs/", id));
  v1::ModelGraph graph;
  const absl::Status status =
      session.Call(session.client().catalog(),
                   &v1::CatalogService::Stub::GetModelGraph, request, &graph);
  if (!status.ok()) {
    return WithHint(status, absl::IsNotFound(status)
                                ? "mansard model list shows what is there"
                                : "");
  }
  return graph;
}

void ClearOutputOnly(v1::ModelGraph* graph) {
  graph->clear_name();
  graph->clear_size();
  graph->clear_revision_id();
  graph->clear_create_time();
  graph->clear_update_time();
  graph->clear_etag();
}

void ClearOutputOnly(v1::HardwareProfile* profile) {
  profile->clear_name();
  profile->clear_revision_id();
  profile->clear_create_time();
  profile->clear_update_time();
  profile->clear_calibrate_time();
  profile->clear_etag();
}

}  // namespace mansard::cli
