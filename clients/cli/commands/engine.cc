// `mansard engine list|get|create`, `mansard calibration list|get|apply`.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/input.h"
#include "clients/cli/output/engine_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

template <class Proto>
absl::StatusOr<Answer> JsonAnswer(const Proto& proto) {
  absl::StatusOr<std::string> json = JsonText(proto);
  if (!json.ok()) return json.status();
  return Answer{.out = *std::move(json)};
}

absl::Status TakeWords(const CatalogFlags& flags, v1::Engine* engine) {
  if (flags.scheduling == "mixed") {
    engine->set_scheduling(v1::Engine::SCHEDULING_MIXED);
  } else if (flags.scheduling == "prefill-first") {
    engine->set_scheduling(v1::Engine::SCHEDULING_PREFILL_FIRST);
  } else if (!flags.scheduling.empty()) {
    return UsageError(absl::StrCat("--scheduling is \"", flags.scheduling,
                                   "\"; allowed: mixed, prefill-first"));
  }
  if (flags.role == "aggregated") {
    engine->set_role(v1::Engine::ROLE_AGGREGATED);
  } else if (flags.role == "prefill") {
    engine->set_role(v1::Engine::ROLE_PREFILL);
  } else if (flags.role == "decode") {
    engine->set_role(v1::Engine::ROLE_DECODE);
  } else if (!flags.role.empty()) {
    return UsageError(absl::StrCat("--role is \"", flags.role,
                                   "\"; allowed: aggregated, prefill, decode"));
  }
  return absl::OkStatus();
}

void TakeLimits(const CatalogFlags& flags, v1::EngineLimits* limits) {
  const auto narrow = [](const std::optional<int64_t>& count) {
    return static_cast<int32_t>(count.value_or(0));
  };
  limits->set_max_batched_token_count(narrow(flags.max_batched_tokens));
  limits->set_max_sequence_count(narrow(flags.max_sequences));
  limits->set_kv_block_token_count(narrow(flags.block_tokens));
  limits->set_kv_token_capacity_count(flags.kv_tokens.value_or(0));
  if (flags.memory_utilization.has_value()) {
    limits->set_memory_utilization_ratio(*flags.memory_utilization);
  }
}

// "--max-sequences 3" for "engine.limits.max_sequence_count".
std::string FlagOf(const Arguments& arguments, const std::string& field) {
  absl::string_view path = field;
  if (path == "engine_id") return absl::StrCat("ID ", arguments.operand);
  if (!absl::ConsumePrefix(&path, "engine.")) return "";
  const CatalogFlags& flags = arguments.catalog;
  const std::pair<const char*, std::pair<const char*, std::string>> table[] = {
      {"limits.max_batched_token_count",
       {"--max-batched-tokens",
        absl::StrCat(flags.max_batched_tokens.value_or(0))}},
      {"limits.max_sequence_count",
       {"--max-sequences", absl::StrCat(flags.max_sequences.value_or(0))}},
      {"limits.kv_block_token_count",
       {"--kv-block-tokens", absl::StrCat(flags.block_tokens.value_or(0))}},
      {"limits.kv_token_capacity_count",
       {"--kv-tokens", absl::StrCat(flags.kv_tokens.value_or(0))}},
      {"limits.memory_utilization_ratio",
       {"--memory-utilization",
        absl::StrCat(flags.memory_utilization.value_or(0))}}};
  for (const auto& [known, flag] : table) {
    if (path == known) return absl::StrCat(flag.first, " ", flag.second);
  }
  return FlagOfField(arguments.estimate, std::string(path));
}

}  // namespace

absl::StatusOr<Answer> RunEngineList(const Session& session,
                                     const Arguments& arguments,
                                     const Style& style) {
  const auto listed = session.ListAll(session.client().catalog(),
                                      &v1::CatalogService::Stub::ListEngines);
  if (!listed.ok()) return listed.status();
  if (arguments.output == OutputFormat::kJson) return JsonAnswer(*listed);
  if (arguments.output == OutputFormat::kCsv) {
    return Answer{.out = CsvText(EngineListReport(*listed))};
  }
  if (listed->engines().empty()) {
    return Answer{.out = "No engines.\n",
                  .notes = arguments.quiet
                               ? ""
                               : "next: mansard engine create ID --model ID "
                                 "--hardware ID\n"};
  }
  return Answer{.out = TableText(EngineListReport(*listed), style)};
}

absl::StatusOr<Answer> RunEngineGet(const Session& session,
                                    const Arguments& arguments,
                                    const Style& style) {
  absl::StatusOr<v1::Engine> engine =
      EngineResource::Get(session, EngineResource::Name(arguments.operand));
  if (!engine.ok()) return engine.status();
  switch (arguments.output) {
    case OutputFormat::kJson:
      return JsonAnswer(*engine);
    case OutputFormat::kTextproto:
      ClearOutputOnly(&*engine);
      return Answer{.out = DataFileText(*engine)};
    case OutputFormat::kCsv:
      return Answer{.out = CsvText(EngineReport(*engine))};
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kSvg:
      break;
  }
  return Answer{.out = EngineText(*engine, style)};
}

absl::StatusOr<Answer> RunEngineCreate(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style) {
  const EstimateFlags& flags = arguments.estimate;
  for (const auto& [flag, value] : {std::pair("--model", &flags.model),
                                    std::pair("--hardware", &flags.hardware)}) {
    if (NamesFile(*value)) {
      return UsageError(absl::StrCat(flag, " is \"", *value,
                                     "\", a file; allowed: an id, as an engine "
                                     "follows what is in the catalog"),
                        absl::StrCat("mansard ", absl::StripPrefix(flag, "--"),
                                     " apply -f FILE puts it there"));
    }
  }
  v1::CreateEngineRequest request;
  request.set_engine_id(arguments.operand);
  request.set_validate_only(arguments.catalog.dry_run);
  v1::Engine& engine = *request.mutable_engine();
  engine.set_display_name(arguments.catalog.display_name);
  engine.mutable_target()->set_model_graph(
      FullName("modelGraphs", flags.model));
  engine.mutable_target()->set_hardware_profile(
      FullName("hardwareProfiles", flags.hardware));
  FillTarget(flags, engine.mutable_target());
  TakeLimits(arguments.catalog, engine.mutable_limits());
  const absl::Status words = TakeWords(arguments.catalog, &engine);
  if (!words.ok()) return words;
  v1::Engine created;
  const absl::Status status = session.Call(
      session.client().catalog(), &v1::CatalogService::Stub::CreateEngine,
      request, &created, [&arguments](const std::string& field) {
        return FlagOf(arguments, field);
      });
  if (!status.ok()) return WithHint(status, CatalogHint(status));
  if (arguments.output == OutputFormat::kJson) return JsonAnswer(created);
  if (arguments.output == OutputFormat::kCsv) {
    return Answer{.out = CsvText(EngineReport(created))};
  }
  Answer answer{.out = EngineText(created, style)};
  if (!arguments.quiet) {
    answer.notes =
        arguments.catalog.dry_run
            ? "note: Nothing is stored.\n"
            : absl::StrCat("next: mansard estimate --engine ",
                           arguments.operand, " --phase decode --context N\n");
  }
  return answer;
}

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
  const bool dry = arguments.catalog.dry_run;
  if (!arguments.catalog.file.empty()) {
    absl::StatusOr<v1::Calibration> said =
        LoadFile(session, arguments.catalog.file,
                 static_cast<v1::Calibration*>(nullptr));
    if (!said.ok()) return said.status();
    v1::CreateCalibrationRequest create;
    const size_t at = name.find("/calibrations/");
    create.set_parent(name.substr(0, at));
    if (at != std::string::npos) {
      create.set_calibration_id(name.substr(name.rfind('/') + 1));
    }
    *create.mutable_calibration() = *std::move(said);
    create.set_validate_only(dry);
    v1::Calibration created;
    const absl::Status status = session.Call(
        session.client().calibration(),
        &v1::CalibrationService::Stub::CreateCalibration, create, &created);
    if (!status.ok()) return WithHint(status, CatalogHint(status));
  }
  if (dry) return Answer{.out = absl::StrCat("would be applied ", name, "\n")};
  v1::ApplyCalibrationRequest request;
  request.set_name(name);
  request.set_profile_etag(arguments.catalog.etag);
  v1::HardwareProfile profile;
  const absl::Status status = session.Call(
      session.client().calibration(),
      &v1::CalibrationService::Stub::ApplyCalibration, request, &profile);
  if (!status.ok()) return status;
  if (arguments.output == OutputFormat::kJson) return JsonAnswer(profile);
  return Answer{.out = absl::StrCat("updated ", profile.name(), "@",
                                    profile.revision_id(), "\n")};
}

}  // namespace mansard::cli
