#include "clients/cli/commands/resources.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/input.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

using CatalogStub = v1::CatalogService::Stub;
using CalibrationStub = v1::CalibrationService::Stub;

absl::Status Hinted(absl::Status status, absl::string_view noun) {
  if (status.ok() || !absl::IsNotFound(status)) return status;
  return WithHint(status,
                  absl::StrCat("mansard ", noun, " list shows what is there"));
}

template <class Response, class Stub, class Request>
absl::StatusOr<Response> Called(
    const Session& session, Stub& stub,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request, absl::string_view noun) {
  Response response;
  const absl::Status status = session.Call(stub, method, request, &response);
  if (!status.ok()) return Hinted(status, noun);
  return response;
}

template <class Request>
Request Named(const std::string& name) {
  Request request;
  request.set_name(name);
  return request;
}

template <class Request>
Request Deletion(const std::string& name, const std::string& etag) {
  auto request = Named<Request>(name);
  request.set_etag(etag);
  return request;
}

template <class Message>
absl::StatusOr<Message> LoadMessage(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadInput(path, kMaxDataFileBytes);
  if (!text.ok()) return text.status();
  const std::string name = path == "-" ? "standard input" : path;
  Message message;
  const absl::Status parsed = LooksLikeJson(*text)
                                  ? ParseJson(name, *text, &message)
                                  : ParseDataFile(name, *text, &message);
  if (!parsed.ok()) return parsed;
  return message;
}

}  // namespace

void ClearOutputOnly(v1::Engine* engine) {
  engine->clear_name();
  engine->clear_kv_token_capacity_count();
  engine->clear_request_capacity_count();
  engine->clear_resolution();
  engine->clear_observations();
  engine->clear_revision_id();
  engine->clear_create_time();
  engine->clear_update_time();
  engine->clear_etag();
}

void ClearOutputOnly(v1::Calibration* calibration) {
  calibration->clear_name();
  calibration->clear_create_time();
  calibration->clear_max_residual_ratio();
  calibration->clear_etag();
}

std::string CalibrationName(const std::string& id) {
  const size_t slash = id.find('/');
  if (absl::StartsWith(id, "hardwareProfiles/") || slash == std::string::npos) {
    return id;
  }
  return absl::StrCat("hardwareProfiles/", id.substr(0, slash),
                      "/calibrations/", id.substr(slash + 1));
}

absl::StatusOr<v1::ModelGraph> ModelResource::Get(const Session& session,
                                                  const std::string& name) {
  return Called<Proto>(session, session.client().catalog(),
                       &CatalogStub::GetModelGraph,
                       Named<v1::GetModelGraphRequest>(name), kNoun);
}

absl::StatusOr<v1::ModelGraph> ModelResource::Apply(const Session& session,
                                                    const Proto& said,
                                                    bool dry_run) {
  v1::UpdateModelGraphRequest request;
  *request.mutable_model_graph() = said;
  request.set_allow_missing(true);
  request.set_validate_only(dry_run);
  return Called<Proto>(session, session.client().catalog(),
                       &CatalogStub::UpdateModelGraph, request, kNoun);
}

absl::Status ModelResource::Delete(const Session& session,
                                   const std::string& name,
                                   const std::string& etag) {
  return Called<google::protobuf::Empty>(
             session, session.client().catalog(),
             &CatalogStub::DeleteModelGraph,
             Deletion<v1::DeleteModelGraphRequest>(name, etag), kNoun)
      .status();
}

absl::StatusOr<v1::HardwareProfile> HardwareResource::Get(
    const Session& session, const std::string& name) {
  return Called<Proto>(session, session.client().catalog(),
                       &CatalogStub::GetHardwareProfile,
                       Named<v1::GetHardwareProfileRequest>(name), kNoun);
}

absl::StatusOr<v1::HardwareProfile> HardwareResource::Apply(
    const Session& session, const Proto& said, bool dry_run) {
  v1::UpdateHardwareProfileRequest request;
  *request.mutable_hardware_profile() = said;
  request.set_allow_missing(true);
  request.set_validate_only(dry_run);
  return Called<Proto>(session, session.client().catalog(),
                       &CatalogStub::UpdateHardwareProfile, request, kNoun);
}

absl::Status HardwareResource::Delete(const Session& session,
                                      const std::string& name,
                                      const std::string& etag) {
  return Called<google::protobuf::Empty>(
             session, session.client().catalog(),
             &CatalogStub::DeleteHardwareProfile,
             Deletion<v1::DeleteHardwareProfileRequest>(name, etag), kNoun)
      .status();
}

absl::StatusOr<v1::Engine> EngineResource::Get(const Session& session,
                                               const std::string& name) {
  return Called<Proto>(session, session.client().catalog(),
                       &CatalogStub::GetEngine,
                       Named<v1::GetEngineRequest>(name), kNoun);
}

absl::StatusOr<v1::Engine> EngineResource::Apply(const Session& session,
                                                 const Proto& said,
                                                 bool dry_run) {
  v1::UpdateEngineRequest request;
  *request.mutable_engine() = said;
  request.set_allow_missing(true);
  request.set_validate_only(dry_run);
  Proto response;
  const absl::Status status =
      session.Call(session.client().catalog(), &CatalogStub::UpdateEngine,
                   request, &response);
  if (!status.ok()) return WithHint(status, CatalogHint(status));
  return response;
}

absl::Status EngineResource::Delete(const Session& session,
                                    const std::string& name,
                                    const std::string& etag) {
  return Called<google::protobuf::Empty>(
             session, session.client().catalog(), &CatalogStub::DeleteEngine,
             Deletion<v1::DeleteEngineRequest>(name, etag), kNoun)
      .status();
}

absl::StatusOr<v1::Calibration> CalibrationResource::Get(
    const Session& session, const std::string& name) {
  return Called<Proto>(session, session.client().calibration(),
                       &CalibrationStub::GetCalibration,
                       Named<v1::GetCalibrationRequest>(name), kNoun);
}

absl::Status CalibrationResource::Delete(const Session& session,
                                         const std::string& name,
                                         const std::string& etag) {
  return Called<google::protobuf::Empty>(
             session, session.client().calibration(),
             &CalibrationStub::DeleteCalibration,
             Deletion<v1::DeleteCalibrationRequest>(name, etag), kNoun)
      .status();
}

absl::StatusOr<v1::ModelGraph> LoadFile(const Session& session,
                                        const std::string& path,
                                        v1::ModelGraph*) {
  auto graph = LoadMessage<v1::ModelGraph>(path);
  // Every config.json has keys that our messages lack.
  if (graph.ok() || path == "-") return graph;
  auto loaded = LoadModelFile(session, path);
  if (!loaded.ok()) return loaded.status();
  return loaded->model_graph();
}

absl::StatusOr<v1::HardwareProfile> LoadFile(const Session&,
                                             const std::string& path,
                                             v1::HardwareProfile*) {
  return LoadMessage<v1::HardwareProfile>(path);
}

absl::StatusOr<v1::Engine> LoadFile(const Session&, const std::string& path,
                                    v1::Engine*) {
  return LoadMessage<v1::Engine>(path);
}

absl::StatusOr<v1::Calibration> LoadFile(const Session&,
                                         const std::string& path,
                                         v1::Calibration*) {
  return LoadMessage<v1::Calibration>(path);
}

}  // namespace mansard::cli
