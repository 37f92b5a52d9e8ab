#include "server/catalog/errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/suggest.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"

namespace mansard::server {
namespace {

struct Kind {
  const char* noun;
  const char* reason;
  const char* metadata_key;
  const char* resource_type;
};

void AppendQuoted(std::string* out, const std::string& name) {
  absl::StrAppend(out, "\"", name, "\"");
}

std::string Hint(const std::vector<std::string>& closest,
                 const std::vector<std::string>& known) {
  if (!closest.empty()) {
    return absl::StrCat(" (did you mean ",
                        absl::StrJoin(closest, " or ", AppendQuoted), "?)");
  }
  if (known.empty()) return "";
  return absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
}

absl::Status NotFound(const Kind& kind, absl::string_view id,
                      absl::string_view name,
                      const std::vector<std::string>& known) {
  const std::vector<std::string> closest = model::ClosestNames(id, known);
  return ErrorBuilder(absl::StatusCode::kNotFound, kind.reason)
      .Message(absl::StrCat("No ", kind.noun, " named ", Quoted(id),
                            Hint(closest, known)))
      .Metadata(kind.metadata_key, id)
      .Metadata("closest", absl::StrJoin(closest, ", "))
      .Resource(kind.resource_type, name)
      .Build();
}

}  // namespace

absl::Status ModelGraphNotFound(absl::string_view id,
                                const std::vector<std::string>& known) {
  return NotFound(
      {"model graph", "MODEL_GRAPH_NOT_FOUND", "model_graph", kModelGraphType},
      id, ResourceName(kModelGraphs, id), known);
}

absl::Status HardwareProfileNotFound(absl::string_view id,
                                     const std::vector<std::string>& known) {
  return NotFound({"hardware profile", "HARDWARE_PROFILE_NOT_FOUND",
                   "hardware_profile", kHardwareProfileType},
                  id, ResourceName(kHardwareProfiles, id), known);
}

absl::Status KernelStackNotFound(absl::string_view id,
                                 const std::vector<std::string>& known) {
  return NotFound({"kernel stack", "KERNEL_STACK_NOT_FOUND", "kernel_stack",
                   "mansard.v1.KernelStack"},
                  id, id, known);
}

absl::Status FabricNotFound(absl::string_view id,
                            const std::vector<std::string>& known) {
  return NotFound({"fabric", "FABRIC_NOT_FOUND", "fabric", "mansard.v1.Fabric"},
                  id, id, known);
}

absl::Status EngineNotFound(absl::string_view id,
                            const std::vector<std::string>& known) {
  return NotFound({"engine", "ENGINE_NOT_FOUND", "engine", kEngineType}, id,
                  ResourceName(kEngines, id), known);
}

absl::Status CalibrationNotFound(absl::string_view name) {
  return ErrorBuilder(absl::StatusCode::kNotFound, "CALIBRATION_NOT_FOUND")
      .Message(absl::StrCat("No calibration named ", Quoted(name)))
      .Metadata("calibration", name)
      .Resource(kCalibrationType, name)
      .Build();
}

absl::Status RevisionNotFound(absl::string_view name,
                              absl::string_view revision_id) {
  return ErrorBuilder(absl::StatusCode::kNotFound, "REVISION_NOT_FOUND")
      .Message(absl::StrCat(name, " has no revision ", Quoted(revision_id),
                            ", or no longer"))
      .Metadata("revision", revision_id)
      .Resource("mansard.v1.Revision", absl::StrCat(name, "@", revision_id))
      .Build();
}

absl::Status AlreadyExists(absl::string_view type, absl::string_view name) {
  return ErrorBuilder(absl::StatusCode::kAlreadyExists,
                      "RESOURCE_ALREADY_EXISTS")
      .Message(absl::StrCat(name, " exists already; an update changes it"))
      .Resource(type, name)
      .Build();
}

absl::Status CheckEtag(absl::string_view given, absl::string_view current,
                       absl::string_view type, absl::string_view name) {
  if (given.empty() || given == current) return absl::OkStatus();
  return ErrorBuilder(absl::StatusCode::kAborted, "ETAG_MISMATCH")
      .Message(current.empty()
                   ? absl::StrCat(name, " is not there; the etag given is ",
                                  Clip(given, 40))
                   : absl::StrCat(name, " has changed: its etag is ", current,
                                  ", not ", Clip(given, 40)))
      .Metadata("etag", current)
      .Resource(type, name)
      .Build();
}

absl::Status ReadOnly(absl::string_view type, absl::string_view name) {
  return ErrorBuilder(absl::StatusCode::kFailedPrecondition,
                      "RESOURCE_READ_ONLY")
      .Message(
          absl::StrCat(name, " comes with the server and cannot be deleted"))
      .Resource(type, name)
      .Build();
}

absl::Status InUse(absl::string_view type, absl::string_view name,
                   const std::vector<std::string>& engines) {
  ErrorBuilder error(absl::StatusCode::kFailedPrecondition, "RESOURCE_IN_USE");
  error
      .Message(absl::StrCat(name, " is in use by ",
                            absl::StrJoin(engines, ", "),
                            "; delete or update them first"))
      .Metadata("engines", absl::StrJoin(engines, ", "))
      .Resource(type, name);
  for (const std::string& engine : engines) {
    error.Precondition("ENGINE", engine, absl::StrCat("names ", name));
  }
  return error.Build();
}

absl::Status EnginesWouldBreak(const std::vector<std::string>& engines,
                               const absl::Status& first) {
  ErrorBuilder error(absl::StatusCode::kFailedPrecondition,
                     "ENGINES_WOULD_BREAK");
  error
      .Message(absl::StrCat("With this, engines could not be resolved any "
                            "more: ",
                            absl::StrJoin(engines, ", "), "; ", engines.front(),
                            ": ", first.message()))
      .Metadata("engines", absl::StrJoin(engines, ", "));
  for (const std::string& engine : engines) {
    error.Precondition("ENGINE", engine, "could not be resolved any more");
  }
  return error.Build();
}

absl::Status CatalogFull(absl::string_view what, int64_t limit) {
  return ErrorBuilder(absl::StatusCode::kFailedPrecondition, "CATALOG_FULL")
      .Message(absl::StrCat("The catalog holds ", limit, " ", what,
                            ", the most it may; delete some first"))
      .Metadata("limit", absl::StrCat(limit))
      .Build();
}

absl::Status Broken(absl::string_view name, const absl::Status& error) {
  return ErrorBuilder(absl::StatusCode::kFailedPrecondition, "RESOURCE_BROKEN")
      .Message(absl::StrCat(
          name,
          " is stored, and this version cannot read it: ", error.message()))
      .Build();
}

absl::Status EngineBroken(absl::string_view name, const absl::Status& error) {
  return ErrorBuilder(absl::StatusCode::kFailedPrecondition, "ENGINE_BROKEN")
      .Message(absl::StrCat(name, " cannot be resolved: ", error.message()))
      .Resource(kEngineType, name)
      .Build();
}

}  // namespace mansard::server
