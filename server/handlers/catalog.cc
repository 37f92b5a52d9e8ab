#include "server/handlers/catalog.h"

#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/graph/hf_config.h"
#include "model/io/graph_io.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"
#include "server/handlers/errors.h"
#include "server/handlers/pages.h"
#include "server/version.h"

namespace mansard::server {
namespace {

// The id in a request's name, with the revision where there is one; as an error
// where it is no name.
absl::StatusOr<RevisionName> IdOf(absl::string_view name,
                                  const char* collection) {
  model::Violations violations;
  std::optional<RevisionName> id =
      ParseRevisionName(name, collection, "name", violations);
  if (!id.has_value()) return InvalidRequest(violations);
  return *std::move(id);
}

// As it was made: with the id of the revision in its name.
template <class Read>
auto ReadRevision(const char* collection, const std::string& id,
                  const StoredRevision& stored, const Read& read)
    -> absl::StatusOr<std::decay_t<decltype(read(StoredResource())->proto)>> {
  const std::string name =
      absl::StrCat(ResourceName(collection, id), "@", stored.revision_id);
  const auto entry = read(StoredResource{.id = id,
                                         .revision_id = stored.revision_id,
                                         .create_time = stored.create_time,
                                         .update_time = stored.create_time,
                                         .content = stored.content});
  if (!entry->error.ok()) return Broken(name, entry->error);
  auto proto = entry->proto;
  proto.set_name(name);
  proto.set_etag(EtagOf(proto));
  return proto;
}

auto ProfileReader(CallContext& call) {
  return [&call](const StoredResource& stored) {
    return ProfileFromStored(stored, call.snapshot().fabrics());
  };
}

// The content of an earlier revision of a resource that is there, into its
// answer. `beneath` may be null.
template <class Entry, class Proto, class Read>
absl::Status GetRevision(CallContext& call, StoredKind kind,
                         const char* collection, const RevisionName& name,
                         const Entry* beneath, const Read& read,
                         Proto& response) {
  ASSIGN_OR_RETURN(
      const std::optional<StoredRevision> stored,
      call.catalog().store().FindRevision(kind, name.id, name.revision_id));
  if (stored.has_value()) {
    ASSIGN_OR_RETURN(response,
                     ReadRevision(collection, name.id, *stored, read));
    return absl::OkStatus();
  }
  if (beneath != nullptr && beneath->proto.revision_id() == name.revision_id) {
    response = beneath->proto;
    response.set_name(absl::StrCat(response.name(), "@", name.revision_id));
    return absl::OkStatus();
  }
  return RevisionNotFound(ResourceName(collection, name.id), name.revision_id);
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
  response.set_engine_count(count(call.state().engines));
  return absl::OkStatus();
}

absl::Status GetModelGraph(CallContext& call,
                           const v1::GetModelGraphRequest& request,
                           v1::ModelGraph& response) {
  ASSIGN_OR_RETURN(const RevisionName name, IdOf(request.name(), kModelGraphs));
  ASSIGN_OR_RETURN(const GraphEntry* entry, call.snapshot().FindGraph(name.id));
  if (name.revision_id.empty() ||
      name.revision_id == entry->proto.revision_id()) {
    response = entry->proto;
    return absl::OkStatus();
  }
  return GetRevision(call, StoredKind::kModelGraph, kModelGraphs, name,
                     call.snapshot().GraphBeneath(name.id), GraphFromStored,
                     response);
}

absl::Status ListModelGraphs(CallContext& call,
                             const v1::ListModelGraphsRequest& request,
                             v1::ListModelGraphsResponse& response) {
  model::Violations violations;
  const Page page = PageOf(request, kModelGraphs, violations);
  if (!violations.empty()) return InvalidRequest(violations);
  response.set_next_page_token(
      FillPage(call.snapshot().graphs(), page, kModelGraphs,
               [&response](const GraphEntry& entry) {
                 if (entry.graph == nullptr) return size_t{0};
                 *response.add_model_graphs() = entry.proto;
                 return entry.bytes;
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
  ASSIGN_OR_RETURN(const RevisionName name,
                   IdOf(request.name(), kHardwareProfiles));
  ASSIGN_OR_RETURN(const ProfileEntry* entry,
                   call.snapshot().FindProfile(name.id));
  if (name.revision_id.empty() ||
      name.revision_id == entry->proto.revision_id()) {
    response = entry->proto;
    return absl::OkStatus();
  }
  return GetRevision(call, StoredKind::kHardwareProfile, kHardwareProfiles,
                     name, call.snapshot().ProfileBeneath(name.id),
                     ProfileReader(call), response);
}

absl::Status ListHardwareProfiles(
    CallContext& call, const v1::ListHardwareProfilesRequest& request,
    v1::ListHardwareProfilesResponse& response) {
  model::Violations violations;
  const Page page = PageOf(request, kHardwareProfiles, violations);
  if (!violations.empty()) return InvalidRequest(violations);
  response.set_next_page_token(
      FillPage(call.snapshot().profiles(), page, kHardwareProfiles,
               [&response](const ProfileEntry& entry) {
                 if (entry.profile == nullptr) return size_t{0};
                 *response.add_hardware_profiles() = entry.proto;
                 return entry.bytes;
               }));
  return absl::OkStatus();
}

absl::Status ListHardwareProfileRevisions(
    CallContext& call, const v1::ListHardwareProfileRevisionsRequest& request,
    v1::ListHardwareProfileRevisionsResponse& response) {
  model::Violations violations;
  const std::optional<std::string> id = ParseResourceName(
      request.parent(), kHardwareProfiles, "parent", violations);
  // Keys are numbers of revisions; of what lies beneath, 0.
  const std::string list = absl::StrCat(request.parent(), "@");
  const Page page = PageOf(request, list, violations);
  int64_t before = std::numeric_limits<int64_t>::max();
  if (!page.after.empty() && !absl::SimpleAtoi(page.after, &before)) before = 0;
  if (!violations.empty()) return InvalidRequest(violations);
  ASSIGN_OR_RETURN([[maybe_unused]] const ProfileEntry* entry,
                   call.snapshot().FindProfile(*id));
  size_t bytes = 0;
  int added = 0;
  int64_t last = before;
  while (added < page.size && bytes < kMaxPageBytes) {
    // One at a time: they are large, and their bytes end the page.
    ASSIGN_OR_RETURN(const std::vector<StoredRevision> stored,
                     call.catalog().store().Revisions(
                         StoredKind::kHardwareProfile, *id, last, 1));
    if (stored.empty()) break;
    RETURN_IF_ERROR(call.CheckAlive());
    ASSIGN_OR_RETURN(*response.add_hardware_profile_revisions(),
                     ReadRevision(kHardwareProfiles, *id, stored.front(),
                                  ProfileReader(call)));
    last = stored.front().number;
    bytes += stored.front().content.size();
    ++added;
  }
  const ProfileEntry* const beneath = call.snapshot().ProfileBeneath(*id);
  if (added == page.size || bytes >= kMaxPageBytes) {
    ASSIGN_OR_RETURN(const std::vector<StoredRevision> next,
                     call.catalog().store().Revisions(
                         StoredKind::kHardwareProfile, *id, last, 1));
    if (!next.empty() || beneath != nullptr) {
      response.set_next_page_token(MakePageToken(list, absl::StrCat(last)));
    }
  } else if (beneath != nullptr) {
    v1::HardwareProfile& oldest = *response.add_hardware_profile_revisions();
    oldest = beneath->proto;
    oldest.set_name(absl::StrCat(oldest.name(), "@", oldest.revision_id()));
  }
  return absl::OkStatus();
}

}  // namespace mansard::server
