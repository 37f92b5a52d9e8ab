// `mansard model|hardware|engine|calibration apply|delete|diff`.
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/input.h"
#include "clients/cli/output/field_diff.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

// What a file is about: as the command line says, else as it says itself, else
// by its own name.
template <class Resource>
absl::StatusOr<std::string> NameOfFile(const std::string& id,
                                       const std::string& file,
                                       const std::string& said) {
  if (!id.empty()) return Resource::Name(id);
  if (!said.empty()) return said;
  const std::string stem = std::filesystem::path(file).stem().string();
  if (file == "-" || stem.empty() || stem == "config") {
    return UsageError(absl::StrCat(file,
                                   " does not say what it is about; ID "
                                   "is missing"),
                      absl::StrCat("mansard ", Resource::kNoun,
                                   " apply --help has examples"));
  }
  return Resource::Name(stem);
}

template <class Proto>
absl::StatusOr<Answer> ResourceAnswer(const Proto& proto,
                                      const std::string& what,
                                      const Arguments& arguments) {
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json = JsonText(proto);
    if (!json.ok()) return json.status();
    return Answer{.out = *std::move(json)};
  }
  return Answer{.out = absl::StrCat(what, " ", proto.name(), "@",
                                    proto.revision_id(), "\n")};
}

template <class Resource>
absl::StatusOr<Answer> Apply(const Session& session,
                             const Arguments& arguments) {
  using Proto = typename Resource::Proto;
  const std::string& file = arguments.catalog.file;
  absl::StatusOr<Proto> said =
      LoadFile(session, file, static_cast<Proto*>(nullptr));
  if (!said.ok()) return said.status();
  const absl::StatusOr<std::string> name =
      NameOfFile<Resource>(arguments.operand, file, said->name());
  if (!name.ok()) return name.status();
  said->set_name(*name);
  const absl::StatusOr<Proto> before = Resource::Get(session, *name);
  const bool dry = arguments.catalog.dry_run;
  const absl::StatusOr<Proto> after = Resource::Apply(session, *said, dry);
  if (!after.ok()) return after.status();
  const std::string would = dry ? "would be " : "";
  if (!before.ok()) {
    return ResourceAnswer(*after, would + "created", arguments);
  }
  if (before->etag() == after->etag()) {
    return ResourceAnswer(*after, "unchanged", arguments);
  }
  return ResourceAnswer(*after, would + "updated", arguments);
}

template <class Resource>
absl::StatusOr<Answer> Delete(const Session& session,
                              const Arguments& arguments) {
  const std::string name = Resource::Name(arguments.operand);
  const absl::Status status =
      Resource::Delete(session, name, arguments.catalog.etag);
  if (!status.ok()) return status;
  return Answer{.out = absl::StrCat("deleted ", name, "\n")};
}

// One side of a diff: stored; or a file as it would be stored, under the name
// of the other side, so that nothing differs but what differs.
template <class Resource>
absl::StatusOr<typename Resource::Proto> Side(const Session& session,
                                              const std::string& operand,
                                              const std::string& other) {
  using Proto = typename Resource::Proto;
  if (!NamesFile(operand)) {
    return Resource::Get(session, Resource::Name(operand));
  }
  absl::StatusOr<Proto> said =
      LoadFile(session, operand, static_cast<Proto*>(nullptr));
  if (!said.ok()) return said.status();
  const std::string id = NamesFile(other) ? "" : other;
  const absl::StatusOr<std::string> name =
      NameOfFile<Resource>(id.substr(0, id.find('@')), operand, said->name());
  if (!name.ok()) return name.status();
  ClearOutputOnly(&*said);
  said->set_name(*name);
  if constexpr (std::is_same_v<Resource, CalibrationResource>) {
    return said;
  } else {
    return Resource::Apply(session, *said, /*dry_run=*/true);
  }
}

template <class Resource>
absl::StatusOr<Answer> Diff(const Session& session,
                            const Arguments& arguments) {
  const std::string& first = arguments.operand;
  const std::string& second = arguments.second_operand;
  if (first == "-" && second == "-") {
    return UsageError("A and B are both \"-\"; allowed: one",
                      "standard input holds one file");
  }
  auto a = Side<Resource>(session, first, second);
  if (!a.ok()) return a.status();
  auto b = Side<Resource>(session, second, first);
  if (!b.ok()) return b.status();
  ClearOutputOnly(&*a);
  ClearOutputOnly(&*b);
  const std::vector<FieldDifference> differences = FieldDifferences(*a, *b);
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json =
        DifferenceJson(first, second, differences);
    if (!json.ok()) return json.status();
    return Answer{.out = *std::move(json)};
  }
  if (arguments.output == OutputFormat::kCsv) {
    return Answer{.out = CsvText(DifferenceReport(differences))};
  }
  return Answer{.out = UnifiedText(first, second, differences)};
}

}  // namespace

absl::StatusOr<Answer> RunApply(const Session& session,
                                const Arguments& arguments) {
  if (arguments.command == Command::kModelApply) {
    return Apply<ModelResource>(session, arguments);
  }
  if (arguments.command == Command::kHardwareApply) {
    return Apply<HardwareResource>(session, arguments);
  }
  return Apply<EngineResource>(session, arguments);
}

absl::StatusOr<Answer> RunDelete(const Session& session,
                                 const Arguments& arguments) {
  if (arguments.command == Command::kModelDelete) {
    return Delete<ModelResource>(session, arguments);
  }
  if (arguments.command == Command::kHardwareDelete) {
    return Delete<HardwareResource>(session, arguments);
  }
  if (arguments.command == Command::kEngineDelete) {
    return Delete<EngineResource>(session, arguments);
  }
  return Delete<CalibrationResource>(session, arguments);
}

absl::StatusOr<Answer> RunDiff(const Session& session,
                               const Arguments& arguments) {
  if (arguments.command == Command::kHardwareDiff) {
    return Diff<HardwareResource>(session, arguments);
  }
  if (arguments.command == Command::kEngineDiff) {
    return Diff<EngineResource>(session, arguments);
  }
  return Diff<CalibrationResource>(session, arguments);
}

}  // namespace mansard::cli
