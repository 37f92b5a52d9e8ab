#include "server/handlers/catalog.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/graph/hf_config.h"
#include "model/io/graph_io.h"
#include "server/catalog/page_token.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/version.h"

namespace mansard::server {
namespace {

struct Page {
  int size = kDefaultPageSize;
  std::string after;  // The last key of the page before; empty: the start.
};

// `list` is the collection. Violations of page_size and page_token together.
template <class Request>
absl::StatusOr<Page> PageOf(const Request& request, const char* list) {
  Page page;
  model::Violations violations;
  if (request.page_size() < 0) {
    violations.Add("page_size", absl::StrCat("is ", request.page_size(),
                                             "; allowed: 0 or more"));
  } else if (request.page_size() > 0) {
    page.size = std::min(request.page_size(), kMaxPageSize);
  }
  if (!request.page_token().empty()) {
    std::optional<std::string> key = ReadPageToken(request.page_token(), list);
    if (key.has_value()) {
      page.after = *std::move(key);
    } else {
      violations.Add(
          "page_token",
          absl::StrCat("is not a next_page_token of the list of ", list));
    }
  }
  if (!violations.empty()) return InvalidRequest(violations);
  return page;
}

// Calls `add` for each entry of the page; returns the token of the next page.
template <class Map, class Add>
std::string Fill(const Map& entries, const Page& page, const char* list,
                 Add add) {
  auto entry =
      page.after.empty() ? entries.begin() : entries.upper_bound(page.after);
  std::string last_key;
  for (int i = 0; i < page.size && entry != entries.end(); ++i, ++entry) {
    add(entry->second);
    last_key = entry->first;
  }
  return entry == entries.end() ? "" : MakePageToken(list, last_key);
}

// The id in a request's name, as an error where it is no name.
absl::StatusOr<std::string> IdOf(absl::string_view name,
                                 const char* collection) {
  model::Violations violations;
  std::optional<std::string> id =
      ParseResourceName(name, collection, "name", violations);
  if (!id.has_value()) return InvalidRequest(violations);
  return *std::move(id);
}

}  // namespace

absl::Status GetServerInfo(CallContext& call,
                           const v1::GetServerInfoRequest& /*request*/,
                           v1::ServerInfo& response) {
  const auto count = [](const auto& entries) {
    return static_cast<int32_t>(entries.size());
  };
  response.set_server_version(kVersion);
  response.set_model_graph_count(count(call.snapshot().graphs()));
  response.set_hardware_profile_count(count(call.snapshot().profiles()));
  return absl::OkStatus();
}

absl::Status GetModelGraph(CallContext& call,
                           const v1::GetModelGraphRequest& request,
                           v1::ModelGraph& response) {
  ASSIGN_OR_RETURN(const std::string id, IdOf(request.name(), kModelGraphs));
  ASSIGN_OR_RETURN(const GraphEntry* entry, call.snapshot().FindGraph(id));
  response = entry->proto;
  return absl::OkStatus();
}

absl::Status ListModelGraphs(CallContext& call,
                             const v1::ListModelGraphsRequest& request,
                             v1::ListModelGraphsResponse& response) {
  ASSIGN_OR_RETURN(const Page page, PageOf(request, kModelGraphs));
  response.set_next_page_token(
      Fill(call.snapshot().graphs(), page, kModelGraphs,
           [&response](const GraphEntry& entry) {
             *response.add_model_graphs() = entry.proto;
           }));
  return absl::OkStatus();
}

namespace {

// Messages about a whole text begin with its file's name.
absl::string_view FieldOfText(absl::string_view message) {
  if (absl::StartsWith(message, "hf_quant_config.json")) {
    return "hf_quant_config_json";
  }
  if (absl::StartsWith(message, "model.safetensors.index.json")) {
    return "safetensors_index_json";
  }
  return "config_json";
}

}  // namespace

absl::Status ImportHuggingFaceConfig(
    CallContext& /*call*/, const v1::ImportHuggingFaceConfigRequest& request,
    v1::ImportHuggingFaceConfigResponse& response) {
  model::Violations violations;
  if (request.config_json().empty()) {
    violations.Add("config_json", "is required: the text of a config.json");
    return InvalidRequest(violations);
  }
  absl::StatusOr<model::ImportedConfig> imported;
  {
    const model::Violations::Scope scope(violations, "config_json");
    imported = model::ImportHuggingFaceConfig(
        request.config_json(),
        {request.hf_quant_config_json(), request.safetensors_index_json()},
        violations);
  }
  if (imported.ok()) {
    *response.mutable_model_graph() = model::GraphToProto(imported->graph);
    for (const std::string& key : imported->ignored_keys) {
      response.add_ignored_keys(key);
    }
    for (const std::string& assumption : imported->assumptions) {
      response.add_assumptions(assumption);
    }
    return absl::OkStatus();
  }
  const absl::Status& error = imported.status();
  if (const auto architecture =
          error.GetPayload(model::kUnsupportedArchitecture)) {
    return ArchitectureUnsupported(std::string(*architecture), error.message());
  }
  if (violations.empty()) {
    violations.Add(FieldOfText(error.message()), error.message());
  }
  return InvalidRequest(violations);
}

absl::Status GetHardwareProfile(CallContext& call,
                                const v1::GetHardwareProfileRequest& request,
                                v1::HardwareProfile& response) {
  ASSIGN_OR_RETURN(const std::string id,
                   IdOf(request.name(), kHardwareProfiles));
  ASSIGN_OR_RETURN(const ProfileEntry* entry, call.snapshot().FindProfile(id));
  response = entry->proto;
  return absl::OkStatus();
}

absl::Status ListHardwareProfiles(
    CallContext& call, const v1::ListHardwareProfilesRequest& request,
    v1::ListHardwareProfilesResponse& response) {
  ASSIGN_OR_RETURN(const Page page, PageOf(request, kHardwareProfiles));
  response.set_next_page_token(
      Fill(call.snapshot().profiles(), page, kHardwareProfiles,
           [&response](const ProfileEntry& entry) {
             *response.add_hardware_profiles() = entry.proto;
           }));
  return absl::OkStatus();
}

}  // namespace mansard::server
