#include "server/handlers/engines.h"

#include <memory>
#include <optional>
#include <string>

#include "server/handlers/pages.h"
#include "server/handlers/resource_writes.h"

namespace mansard::server {
namespace {

struct EngineKind {
  using Proto = v1::Engine;
  using Entry = EngineEntry;
  static constexpr const char* kCollection = kEngines;
  static constexpr const char* kField = "engine";
  static constexpr const char* kType = kEngineType;
  // What was said is there, whether it can be resolved or not.
  static constexpr bool kBrokenIsWhole = true;

  static const Entry* Find(const CatalogState& state, const std::string& id) {
    const auto found = state.engines.find(id);
    return found == state.engines.end() ? nullptr : found->second.get();
  }
  static absl::Status NotFound(const CatalogState& state,
                               const std::string& id) {
    return EngineNotFound(id, KeysOf(state.engines));
  }
  static absl::StatusOr<std::shared_ptr<const Entry>> Make(
      const CatalogWriter& writer, const std::string& id, const Proto& said,
      const Entry* current, model::Violations& violations) {
    return MakeEntry(writer.snapshot(), id, said, current, writer.now(),
                     violations);
  }
  static absl::Status Delete(CatalogWriter& writer, const std::string& id) {
    return writer.DeleteEngine(id);
  }
};

void ToProto(const EngineEntry& entry, v1::Engine& proto) {
  proto = entry.proto;
  if (entry.broken()) {
    proto.mutable_resolution()->add_warnings(absl::StrCat(
        "this engine cannot be resolved: ", entry.error.message()));
  }
}

}  // namespace

absl::Status GetEngine(CallContext& call, const v1::GetEngineRequest& request,
                       v1::Engine& response) {
  model::Violations violations;
  const std::optional<std::string> id =
      ParseResourceName(request.name(), kEngines, "name", violations);
  if (!id.has_value()) return InvalidRequest(violations);
  const EngineEntry* const entry = EngineKind::Find(call.state(), *id);
  if (entry == nullptr) return EngineKind::NotFound(call.state(), *id);
  ToProto(*entry, response);
  return absl::OkStatus();
}

absl::Status ListEngines(CallContext& call,
                         const v1::ListEnginesRequest& request,
                         v1::ListEnginesResponse& response) {
  model::Violations violations;
  const Page page = PageOf(request, kEngines, violations);
  if (!violations.empty()) return InvalidRequest(violations);
  response.set_next_page_token(FillPage(call.state().engines, page, kEngines,
                                        [&response](const EngineEntry& entry) {
                                          v1::Engine& added =
                                              *response.add_engines();
                                          ToProto(entry, added);
                                          return added.ByteSizeLong();
                                        }));
  return absl::OkStatus();
}

absl::Status CreateEngine(CallContext& call,
                          const v1::CreateEngineRequest& request,
                          v1::Engine& response) {
  return Create<EngineKind>(call, request.engine_id(),
                            request.has_engine() ? &request.engine() : nullptr,
                            request.validate_only(), response);
}

absl::Status UpdateEngine(CallContext& call,
                          const v1::UpdateEngineRequest& request,
                          v1::Engine& response) {
  return Update<EngineKind>(call,
                            request.has_engine() ? &request.engine() : nullptr,
                            request.update_mask(), request.allow_missing(),
                            request.validate_only(), response);
}

absl::Status DeleteEngine(CallContext& call,
                          const v1::DeleteEngineRequest& request,
                          google::protobuf::Empty& /*response*/) {
  return Delete<EngineKind>(call, request.name(), request.etag());
}

}  // namespace mansard::server
