#include "server/handlers/calibrations.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/io/revision.h"
#include "server/catalog/catalog.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/error.h"
#include "server/handlers/fitted_stack.h"
#include "server/handlers/pages.h"

namespace mansard::server {
namespace {

constexpr int kMaxMeasurements = 100'000;

std::string KeyOf(const CalibrationId& id) {
  return absl::StrCat(id.profile, "/", id.calibration);
}

void CheckMeasurement(const v1::Measurement& one,
                      model::Violations& violations) {
  if (one.case_().empty()) violations.Add("case", "is required");
  if (one.outcome() == v1::Measurement::OUTCOME_UNSPECIFIED ||
      !v1::Measurement::Outcome_IsValid(one.outcome())) {
    violations.Add("outcome",
                   absl::StrCat("is ", static_cast<int>(one.outcome()),
                                "; allowed: the values of its enum"));
  }
  const bool measured = one.outcome() == v1::Measurement::OUTCOME_MEASURED;
  if (measured && !one.reason().empty()) {
    violations.Add("reason", "is set beside OUTCOME_MEASURED");
  }
  const auto check = [&violations](absl::string_view field, double value) {
    if (std::isfinite(value) && value >= 0) return;
    violations.Add(field, absl::StrCat("is ", value, "; allowed: 0 or more"));
  };
  check("size", one.size());
  check("median_seconds", one.median_seconds());
  check("relative_spread_ratio", one.relative_spread_ratio());
  check("sample_count", one.sample_count());
  check("discarded_sample_count", one.discarded_sample_count());
  check("flops", one.flops());
  check("moved_bytes", one.moved_bytes());
}

// 8-4-4-4-12 hexadecimal digits.
bool IsUuid(absl::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-'
             : !absl::ascii_isxdigit(static_cast<unsigned char>(text[i]))) {
      return false;
    }
  }
  return true;
}

void CheckCalibration(const v1::Calibration& said,
                      const model::HardwareProfile* profile,
                      model::Violations& violations) {
  violations.CheckRange("measurements", said.measurements_size(), 0,
                        kMaxMeasurements);
  for (int i = 0; i < said.measurements_size(); ++i) {
    const model::Violations::Scope scope(
        violations, model::Indexed("measurements", static_cast<size_t>(i)));
    CheckMeasurement(said.measurements(i), violations);
  }
  if (!said.has_fitted_stack()) {
    violations.Add("fitted_stack", "is required");
  } else if (profile != nullptr) {
    const model::Violations::Scope scope(violations, "fitted_stack");
    CompleteStack(said.fitted_stack(), *profile, violations);
  }
}

// What callers cannot set is dropped.
v1::Calibration ContentOf(const v1::Calibration& said) {
  v1::Calibration content = said;
  content.clear_name();
  content.clear_create_time();
  content.clear_etag();
  content.set_max_residual_ratio(MaxResidual(said.fitted_stack()));
  return content;
}

absl::StatusOr<v1::Calibration> Read(const StoredResource& stored) {
  const size_t slash = stored.id.find('/');
  const std::string name = CalibrationName(
      {stored.id.substr(0, slash), stored.id.substr(slash + 1)});
  v1::Calibration proto;
  if (!proto.ParseFromString(stored.content)) {
    return Broken(name, absl::DataLossError("its content does not parse"));
  }
  proto.set_name(name);
  proto.set_etag(stored.etag);
  *proto.mutable_create_time() = ToProto(stored.create_time);
  return proto;
}

absl::StatusOr<StoredResource> Find(Store& store, const CalibrationId& id) {
  ASSIGN_OR_RETURN(std::optional<StoredResource> found,
                   store.Find(StoredKind::kCalibration, KeyOf(id)));
  if (!found.has_value()) return CalibrationNotFound(CalibrationName(id));
  return *std::move(found);
}

absl::StatusOr<CalibrationId> IdOf(absl::string_view name) {
  model::Violations violations;
  std::optional<CalibrationId> id =
      ParseCalibrationName(name, "name", violations);
  if (!id.has_value()) return InvalidRequest(violations);
  return *std::move(id);
}

// The answer of the request with this id, if there was one. One that said
// something else is a violation.
absl::StatusOr<std::optional<v1::Calibration>> Repeated(
    Store& store, const std::string& request_id, const std::string& hash) {
  if (request_id.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<StoredResource> known,
                   store.FindByRequest(request_id));
  if (!known.has_value()) return std::nullopt;
  if (known->request_hash != hash) {
    model::Violations violations;
    violations.Add("request_id",
                   absl::StrCat("has been used by another request, which made ",
                                Quoted(known->id)));
    return InvalidRequest(violations);
  }
  ASSIGN_OR_RETURN(v1::Calibration answer, Read(*known));
  return answer;
}

absl::Status CheckNew(CatalogWriter& writer, const CalibrationId& id,
                      const StoredResource& resource) {
  ASSIGN_OR_RETURN(const std::optional<StoredResource> there,
                   writer.store().Find(StoredKind::kCalibration, resource.id));
  if (there.has_value()) {
    return AlreadyExists(kCalibrationType, CalibrationName(id));
  }
  ASSIGN_OR_RETURN(const int64_t count,
                   writer.store().Count(StoredKind::kCalibration,
                                        absl::StrCat(id.profile, "/")));
  if (count >= writer.limits().calibrations) {
    return CatalogFull("calibrations of a profile",
                       writer.limits().calibrations);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CreateCalibration(CallContext& call,
                               const v1::CreateCalibrationRequest& request,
                               v1::Calibration& response) {
  model::Violations violations;
  const std::optional<std::string> profile_id = ParseResourceName(
      request.parent(), kHardwareProfiles, "parent", violations);
  CheckId(request.calibration_id(), "calibration_id", violations);
  if (!request.request_id().empty() && !IsUuid(request.request_id())) {
    violations.Add(
        "request_id",
        absl::StrCat("is ", Quoted(request.request_id()), "; allowed: a UUID"));
  }
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  absl::StatusOr<const ProfileEntry*> profile = nullptr;
  if (profile_id.has_value())
    profile = writer.snapshot().FindProfile(*profile_id);
  if (request.has_calibration()) {
    const model::Violations::Scope scope(violations, "calibration");
    CheckCalibration(request.calibration(),
                     profile.ok() && *profile != nullptr
                         ? (*profile)->profile.get()
                         : nullptr,
                     violations);
  } else {
    violations.Add("calibration", "is required");
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(profile.status());

  const std::string hash = model::RevisionOf(request);
  ASSIGN_OR_RETURN(std::optional<v1::Calibration> repeated,
                   Repeated(writer.store(), request.request_id(), hash));
  if (repeated.has_value()) {
    response = *std::move(repeated);
    return absl::OkStatus();
  }
  const CalibrationId id{*profile_id, request.calibration_id()};
  const std::string content = BytesOf(ContentOf(request.calibration()));
  const StoredResource resource{
      .kind = StoredKind::kCalibration,
      .id = KeyOf(id),
      .revision_id = model::ContentHash(content),
      .etag = EtagOfBytes(content),
      .create_time = writer.now(),
      .update_time = writer.now(),
      .content = content,
      .request_id = request.request_id(),
      .request_hash = request.request_id().empty() ? "" : hash};
  RETURN_IF_ERROR(CheckNew(writer, id, resource));
  if (!request.validate_only()) {
    RETURN_IF_ERROR(writer.PutAlone(resource));
    call.metrics().calibrations().Kept(id.profile, request.calibration());
  }
  ASSIGN_OR_RETURN(response, Read(resource));
  return absl::OkStatus();
}

absl::Status GetCalibration(CallContext& call,
                            const v1::GetCalibrationRequest& request,
                            v1::Calibration& response) {
  ASSIGN_OR_RETURN(const CalibrationId id, IdOf(request.name()));
  ASSIGN_OR_RETURN(const StoredResource stored,
                   Find(call.catalog().store(), id));
  ASSIGN_OR_RETURN(response, Read(stored));
  return absl::OkStatus();
}

absl::Status ListCalibrations(CallContext& call,
                              const v1::ListCalibrationsRequest& request,
                              v1::ListCalibrationsResponse& response) {
  model::Violations violations;
  const std::optional<std::string> profile = ParseResourceName(
      request.parent(), kHardwareProfiles, "parent", violations);
  const std::string list = absl::StrCat(request.parent(), "/", kCalibrations);
  const Page page = PageOf(request, list, violations);
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(call.snapshot().FindProfile(*profile).status());
  const std::string prefix = absl::StrCat(*profile, "/");
  std::string last = page.after;
  size_t bytes = 0;
  for (int added = 0;; ++added) {
    // One at a time: they are large, and their bytes end the page.
    ASSIGN_OR_RETURN(
        const std::vector<StoredResource> next,
        call.catalog().store().List(StoredKind::kCalibration, prefix, last, 1));
    if (next.empty()) return absl::OkStatus();
    if (added == page.size || bytes >= kMaxPageBytes) break;
    RETURN_IF_ERROR(call.CheckAlive());
    ASSIGN_OR_RETURN(*response.add_calibrations(), Read(next.front()));
    last = next.front().id;
    bytes += next.front().content.size();
  }
  response.set_next_page_token(MakePageToken(list, last));
  return absl::OkStatus();
}

absl::Status DeleteCalibration(CallContext& call,
                               const v1::DeleteCalibrationRequest& request,
                               google::protobuf::Empty& /*response*/) {
  ASSIGN_OR_RETURN(const CalibrationId id, IdOf(request.name()));
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  ASSIGN_OR_RETURN(const StoredResource stored, Find(writer.store(), id));
  RETURN_IF_ERROR(
      CheckEtag(request.etag(), stored.etag, kCalibrationType, request.name()));
  return writer.DeleteAlone(stored);
}

absl::Status ApplyCalibration(CallContext& call,
                              const v1::ApplyCalibrationRequest& request,
                              v1::HardwareProfile& response) {
  ASSIGN_OR_RETURN(const CalibrationId id, IdOf(request.name()));
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  ASSIGN_OR_RETURN(const StoredResource stored, Find(writer.store(), id));
  ASSIGN_OR_RETURN(const v1::Calibration calibration, Read(stored));
  ASSIGN_OR_RETURN(const ProfileEntry* current,
                   writer.snapshot().FindProfile(id.profile));
  RETURN_IF_ERROR(CheckEtag(request.profile_etag(), current->proto.etag(),
                            kHardwareProfileType, current->proto.name()));
  model::Violations violations;
  const std::optional<v1::KernelStack> stack =
      CompleteStack(calibration.fitted_stack(), *current->profile, violations);
  std::shared_ptr<const ProfileEntry> entry;
  if (stack.has_value()) {
    v1::HardwareProfile changed = current->proto;
    PutStack(*stack, changed);
    *changed.mutable_calibrate_time() = ToProto(writer.now());
    auto made = MakeEntry(id.profile, std::move(changed), current, writer.now(),
                          writer.snapshot().fabrics(), violations);
    if (made.ok()) entry = *std::move(made);
  }
  if (entry == nullptr) {
    call.metrics().calibrations().Applied(id.profile, /*fits=*/false);
    return ErrorBuilder(absl::StatusCode::kFailedPrecondition,
                        "CALIBRATION_UNFIT")
        .Message(absl::StrCat(request.name(), " does not fit the profile: ",
                              violations.ToStatus().message()))
        .Build();
  }
  RETURN_IF_ERROR(writer.Put(id.profile, entry, /*validate_only=*/false));
  call.metrics().calibrations().Applied(id.profile, /*fits=*/true);
  response = entry->proto;
  return absl::OkStatus();
}

}  // namespace mansard::server
