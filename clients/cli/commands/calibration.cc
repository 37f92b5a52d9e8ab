// `mansard calibration list|get|apply`.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/output/engine_text.h"
#include "clients/cli/output/field_diff.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

using Stub = v1::CalibrationService::Stub;

template <class Proto>
absl::StatusOr<Answer> JsonAnswer(const Proto& proto) {
  absl::StatusOr<std::string> json = JsonText(proto);
  if (!json.ok()) return json.status();
  return Answer{.out = *std::move(json)};
}

// FNV-1a, from a start of one's own.
uint64_t HashOf(const std::string& bytes, uint64_t hash) {
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3U;
  }
  return hash;
}

// The same for the same request, also of another process: a command that is
// repeated, because the first one was cut short, makes nothing twice.
std::string RequestIdOf(const v1::CreateCalibrationRequest& request) {
  const std::string bytes = request.SerializeAsString();
  const uint64_t high = HashOf(bytes, 0xcbf29ce484222325U);
  const uint64_t low = HashOf(bytes, 0x9e3779b97f4a7c15U);
  return absl::StrFormat("%08x-%04x-%04x-%04x-%012x", high >> 32U,
                         high >> 16U & 0xffffU, high & 0xffffU, low >> 48U,
                         low & 0xffffffffffffU);
}

const v1::KernelStack* FindStack(const v1::HardwareProfile& profile,
                                 const std::string& id) {
  for (const v1::KernelStack& stack : profile.kernel_stacks()) {
    if (stack.stack() == id) return &stack;
  }
  return nullptr;
}

// What applying a stack changes.
struct Preview {
  std::string a;
  std::string b;
  std::vector<FieldDifference> differences;
};

// The hardware as it would be, without storing it: the service completes the
// stack by its base.
absl::StatusOr<Preview> PreviewOf(const Session& session,
                                  const v1::HardwareProfile& before,
                                  const v1::KernelStack& fitted) {
  v1::HardwareProfile said = before;
  ClearOutputOnly(&said);
  said.set_name(before.name());
  v1::KernelStack* place = nullptr;
  for (v1::KernelStack& stack : *said.mutable_kernel_stacks()) {
    if (stack.stack() == fitted.stack()) place = &stack;
  }
  *(place == nullptr ? said.add_kernel_stacks() : place) = fitted;
  const absl::StatusOr<v1::HardwareProfile> after =
      HardwareResource::Apply(session, said, /*dry_run=*/true);
  if (!after.ok()) return after.status();
  const v1::KernelStack empty;
  const v1::KernelStack* old_stack = FindStack(before, fitted.stack());
  const v1::KernelStack* new_stack = FindStack(*after, fitted.stack());
  return Preview{absl::StrCat(before.name(), "@", before.revision_id()),
                 "applied",
                 FieldDifferences(old_stack == nullptr ? empty : *old_stack,
                                  new_stack == nullptr ? empty : *new_stack)};
}

// The stack of a file, which is then kept under `name`; else that of the one
// that is there.
absl::StatusOr<v1::KernelStack> FittedStack(const Session& session,
                                            const Arguments& arguments,
                                            const std::string& name) {
  if (arguments.catalog.file.empty()) {
    absl::StatusOr<v1::Calibration> found =
        CalibrationResource::Get(session, name);
    if (!found.ok()) return found.status();
    return found->fitted_stack();
  }
  absl::StatusOr<v1::Calibration> said = LoadFile(
      session, arguments.catalog.file, static_cast<v1::Calibration*>(nullptr));
  if (!said.ok()) return said.status();
  v1::CreateCalibrationRequest create;
  const size_t at = name.find("/calibrations/");
  create.set_parent(name.substr(0, at));
  if (at != std::string::npos) {
    create.set_calibration_id(name.substr(name.rfind('/') + 1));
  }
  *create.mutable_calibration() = *std::move(said);
  create.set_request_id(RequestIdOf(create));
  create.set_validate_only(arguments.catalog.dry_run);
  v1::Calibration created;
  const absl::Status status =
      session.Call(session.client().calibration(), &Stub::CreateCalibration,
                   create, &created);
  if (!status.ok()) return WithHint(status, CatalogHint(status));
  return create.calibration().fitted_stack();
}

absl::StatusOr<Answer> DryAnswer(const std::string& name,
                                 const Preview& preview,
                                 const Arguments& arguments) {
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json =
        DifferenceJson(preview.a, preview.b, preview.differences);
    if (!json.ok()) return json.status();
    return Answer{.out = *std::move(json)};
  }
  if (arguments.output == OutputFormat::kCsv) {
    return Answer{.out = CsvText(DifferenceReport(preview.differences))};
  }
  return Answer{.out = absl::StrCat(
                    "would be applied ", name, "\n",
                    UnifiedText(preview.a, preview.b, preview.differences)),
                .notes = arguments.quiet ? "" : "note: Nothing is stored.\n"};
}

}  // namespace

absl::StatusOr<Answer> RunCalibrationList(const Session& session,
                                          const Arguments& arguments,
                                          const Style& style) {
  v1::ListCalibrationsRequest request;
  request.set_parent(FullName("hardwareProfiles", arguments.operand));
  const auto listed =
      session.ListAll(session.client().calibration(),
                      &v1::CalibrationService::Stub::ListCalibrations, request);
  if (!listed.ok())
    return WithHint(listed.status(), CatalogHint(listed.status()));
  if (arguments.output == OutputFormat::kJson) return JsonAnswer(*listed);
  if (arguments.output == OutputFormat::kCsv) {
    return Answer{.out = CsvText(CalibrationListReport(*listed))};
  }
  if (listed->calibrations().empty()) {
    return Answer{.out = "No calibrations.\n"};
  }
  return Answer{.out = TableText(CalibrationListReport(*listed), style)};
}

absl::StatusOr<Answer> RunCalibrationGet(const Session& session,
                                         const Arguments& arguments,
                                         const Style& style) {
  absl::StatusOr<v1::Calibration> found =
      CalibrationResource::Get(session, CalibrationName(arguments.operand));
  if (!found.ok()) return found.status();
  switch (arguments.output) {
    case OutputFormat::kJson:
      return JsonAnswer(*found);
    case OutputFormat::kTextproto:
      ClearOutputOnly(&*found);
      return Answer{.out = DataFileText(*found)};
    case OutputFormat::kCsv:
      return Answer{.out = CsvText(CalibrationReport(*found))};
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kSvg:
      break;
  }
  return Answer{.out = CalibrationText(*found, style)};
}

absl::StatusOr<Answer> RunCalibrationApply(const Session& session,
                                           const Arguments& arguments) {
  const std::string name = CalibrationName(arguments.operand);
  const absl::StatusOr<v1::KernelStack> fitted =
      FittedStack(session, arguments, name);
  if (!fitted.ok()) return fitted.status();
  const absl::StatusOr<v1::HardwareProfile> before = HardwareResource::Get(
      session, name.substr(0, name.find("/calibrations")));
  if (!before.ok()) return before.status();
  const absl::StatusOr<Preview> preview = PreviewOf(session, *before, *fitted);
  if (arguments.catalog.dry_run) {
    if (!preview.ok()) return preview.status();
    return DryAnswer(name, *preview, arguments);
  }
  v1::ApplyCalibrationRequest request;
  request.set_name(name);
  // What is shown is what changes: nothing else came between.
  request.set_profile_etag(
      arguments.catalog.etag.empty() ? before->etag() : arguments.catalog.etag);
  v1::HardwareProfile profile;
  const absl::Status status =
      session.Call(session.client().calibration(), &Stub::ApplyCalibration,
                   request, &profile);
  if (!status.ok()) return status;
  if (arguments.output == OutputFormat::kJson) return JsonAnswer(profile);
  Answer answer{.out = absl::StrCat("updated ", profile.name(), "@",
                                    profile.revision_id(), "\n")};
  if (preview.ok() && !arguments.quiet) {
    absl::StrAppend(&answer.out,
                    UnifiedText(preview->a, preview->b, preview->differences));
  }
  return answer;
}

}  // namespace mansard::cli
