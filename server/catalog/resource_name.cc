#include "server/catalog/resource_name.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "model/base/id.h"
#include "server/error.h"

namespace mansard::server {

std::string ResourceName(absl::string_view collection, absl::string_view id) {
  return absl::StrCat(collection, "/", id);
}

std::optional<std::string> ParseResourceName(absl::string_view name,
                                             absl::string_view collection,
                                             absl::string_view field,
                                             model::Violations& violations) {
  absl::string_view id = name;
  if (absl::ConsumePrefix(&id, collection) && absl::ConsumePrefix(&id, "/") &&
      model::IsValidId(id)) {
    return std::string(id);
  }
  violations.Add(field,
                 absl::StrCat("is ", Quoted(name), "; allowed: ", collection,
                              "/{id}, the id of 1 to 63 lower-case letters, "
                              "digits, \"-\" and \".\""));
  return std::nullopt;
}

namespace {

// Revisions are 12 hex digits.
bool IsRevisionId(absl::string_view id) {
  return id.size() == 12 &&
         id.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

}  // namespace

std::optional<RevisionName> ParseRevisionName(absl::string_view name,
                                              absl::string_view collection,
                                              absl::string_view field,
                                              model::Violations& violations) {
  const size_t at = name.find('@');
  std::optional<std::string> id =
      ParseResourceName(name.substr(0, at), collection, field, violations);
  if (!id.has_value()) return std::nullopt;
  RevisionName found{*std::move(id), ""};
  if (at == absl::string_view::npos) return found;
  const absl::string_view revision = name.substr(at + 1);
  if (!IsRevisionId(revision)) {
    violations.Add(field,
                   absl::StrCat("has the revision ", Quoted(revision),
                                "; allowed: 12 hexadecimal digits, as in "
                                "revision_id"));
    return std::nullopt;
  }
  found.revision_id = std::string(revision);
  return found;
}

std::string CalibrationName(const CalibrationId& id) {
  return absl::StrCat(kHardwareProfiles, "/", id.profile, "/", kCalibrations,
                      "/", id.calibration);
}

std::optional<CalibrationId> ParseCalibrationName(
    absl::string_view name, absl::string_view field,
    model::Violations& violations) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  if (parts.size() == 4 && parts[0] == kHardwareProfiles &&
      parts[2] == kCalibrations && model::IsValidId(parts[1]) &&
      model::IsValidId(parts[3])) {
    return CalibrationId{std::string(parts[1]), std::string(parts[3])};
  }
  violations.Add(field,
                 absl::StrCat("is ", Quoted(name),
                              "; allowed: hardwareProfiles/{id}/calibrations/"
                              "{id}, each id of 1 to 63 lower-case letters, "
                              "digits, \"-\" and \".\""));
  return std::nullopt;
}

void CheckId(absl::string_view id, absl::string_view field,
             model::Violations& violations) {
  if (model::IsValidId(id)) return;
  violations.Add(field,
                 absl::StrCat(id.empty() ? "is required" : "is ",
                              id.empty() ? "" : Quoted(id),
                              "; allowed: 1 to 63 lower-case letters, digits, "
                              "\"-\" and \".\""));
}

}  // namespace mansard::server
