// `mansard engine import`.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/engine_request.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/import_target.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/input.h"
#include "clients/cli/output/engine_text.h"
#include "clients/cli/output/import_text.h"
#include "clients/cli/output/proto_text.h"
#include "clients/import/model_match.h"

namespace mansard::cli {
namespace {

using importing::EngineImport;
using importing::Fate;
using importing::FlagRow;
using importing::LaunchCommand;
using importing::Runtime;

struct Source {
  Runtime runtime;
  const char* flag;
  const std::string* text;
};

Source SourceOf(const ImportFlags& flags) {
  if (!flags.vllm.empty()) return {Runtime::kVllm, "--vllm-args", &flags.vllm};
  if (!flags.sglang.empty()) {
    return {Runtime::kSglang, "--sglang-args", &flags.sglang};
  }
  return {Runtime::kTrtllm, "--trtllm-args", &flags.trtllm};
}

// What is wrong with the text as errors of the command line.
absl::Status AsUsage(const Source& source, const absl::Status& status) {
  if (status.ok() || !absl::IsInvalidArgument(status)) return status;
  const std::vector<std::string> lines =
      absl::StrSplit(std::string(status.message()), '\n');
  std::vector<std::string> named;
  for (const std::string& line : lines) {
    // Lines about a flag name it.
    const bool own =
        absl::StartsWith(line, "is ") || absl::StartsWith(line, "has ");
    named.push_back(own ? absl::StrCat(source.flag, " ", line)
                        : absl::StrCat(source.flag, ": ", line));
  }
  return UsageError(absl::StrJoin(named, "\n"),
                    "mansard engine import --help has examples");
}

// An engine from flags, and what to know about it.
struct Imported {
  EngineImport import;
  std::vector<std::string> notes;
};

void TakeStack(const v1::HardwareProfile& profile, Runtime runtime,
               const EstimateFlags& flags, Imported* imported) {
  v1::Target& target = *imported->import.engine.mutable_target();
  target.set_fabric(flags.fabric);
  target.set_kernel_stack(flags.stack.empty() ? NewestStack(profile, runtime)
                                              : flags.stack);
  if (target.kernel_stack().empty() && profile.kernel_stacks_size() > 0) {
    imported->notes.push_back(absl::StrCat(
        "no stack of this hardware is of ", importing::RuntimeName(runtime),
        "; its first one is taken, ", profile.kernel_stacks(0).stack()));
  }
}

// Formats that the user gives beside the command win.
void TakeFormats(const EstimateFlags& flags, v1::Precision* precision) {
  if (!flags.weights.empty()) precision->set_weights(flags.weights);
  if (!flags.activations.empty()) {
    precision->set_activations(flags.activations);
  }
  if (!flags.kv.empty()) precision->set_kv_cache(flags.kv);
  if (!flags.state.empty()) precision->set_state(flags.state);
}

// "--tensor-parallel-size 3" for "engine.target.parallelism.tensor_size".
std::string FlagOf(const EngineImport& import, const Arguments& arguments,
                   const std::string& field) {
  absl::string_view path = field;
  absl::ConsumePrefix(&path, "engine.");
  const auto found = import.flag_of_field.find(std::string(path));
  if (found != import.flag_of_field.end()) return found->second;
  if (path == "name") return absl::StrCat("--apply ", arguments.import.apply);
  return FlagOfField(arguments.estimate, std::string(path));
}

// Creates or updates the engine under `id`, or checks it alone.
absl::StatusOr<v1::Engine> Write(const Session& session,
                                 const Arguments& arguments,
                                 const EngineImport& import,
                                 const std::string& id, bool check_alone) {
  v1::UpdateEngineRequest request;
  *request.mutable_engine() = import.engine;
  request.mutable_engine()->set_name(EngineResource::Name(id));
  request.set_allow_missing(true);
  request.set_validate_only(check_alone);
  v1::Engine written;
  const absl::Status status = session.Call(
      session.client().catalog(), &v1::CatalogService::Stub::UpdateEngine,
      request, &written, [&](const std::string& field) {
        return FlagOf(import, arguments, field);
      });
  if (!status.ok()) return WithHint(status, CatalogHint(status));
  return written;
}

// Tokens of a cache that gets a share of what is left beside the weights: the
// share of the tokens that the engine, with all of the memory, has.
absl::Status TakeFreeMemory(const Session& session, const Arguments& arguments,
                            const std::string& id, EngineImport* import) {
  if (!import->free_memory_ratio.has_value()) return absl::OkStatus();
  v1::EngineLimits& limits = *import->engine.mutable_limits();
  const int64_t at_most = limits.kv_token_capacity_count();
  limits.clear_kv_token_capacity_count();
  const absl::StatusOr<v1::Engine> all =
      Write(session, arguments, *import, id, /*check_alone=*/true);
  if (!all.ok()) return all.status();
  auto tokens = static_cast<int64_t>(
      std::floor(*import->free_memory_ratio *
                 static_cast<double>(all->kv_token_capacity_count())));
  if (at_most > 0) tokens = std::min(tokens, at_most);
  limits.set_kv_token_capacity_count(tokens);
  return absl::OkStatus();
}

absl::Status RefuseUnknown(const std::vector<FlagRow>& rows) {
  std::vector<std::string> unknown;
  for (const FlagRow& row : rows) {
    if (row.fate == Fate::kUnknown) unknown.push_back(row.flag);
  }
  if (unknown.empty()) return absl::OkStatus();
  return UsageError(
      absl::StrCat("--strict: unknown flags: ", absl::StrJoin(unknown, ", ")),
      "without --strict they are listed");
}

absl::StatusOr<Imported> ImportFlagsOf(const Session& session,
                                       const Arguments& arguments) {
  const EstimateFlags& flags = arguments.estimate;
  const absl::Status ids = RefuseFiles(flags);
  if (!ids.ok()) return ids;
  const Source source = SourceOf(arguments.import);
  const absl::StatusOr<LaunchCommand> command = importing::ParseLaunch(
      source.runtime, *source.text,
      [](const std::string& path) { return ReadInput(path, kMaxConfigBytes); });
  if (!command.ok()) return AsUsage(source, command.status());
  const absl::StatusOr<v1::HardwareProfile> profile =
      HardwareResource::Get(session, HardwareResource::Name(flags.hardware));
  if (!profile.ok()) return profile.status();
  const absl::StatusOr<importing::ModelMatch> match =
      FindModel(session, *command, source.flag, flags);
  if (!match.ok()) return match.status();
  const absl::StatusOr<v1::ModelGraph> graph =
      GetModelGraph(session, match->id);
  if (!graph.ok()) return graph.status();
  absl::StatusOr<EngineImport> import =
      importing::ImportEngine(*command, FactsOf(*graph), FactsOf(*profile));
  if (!import.ok()) return AsUsage(source, import.status());
  if (arguments.import.strict) {
    const absl::Status known = RefuseUnknown(import->rows);
    if (!known.ok()) return known;
  }
  Imported imported{*std::move(import), {}};
  if (!command->model.empty()) {
    imported.import.rows.insert(
        imported.import.rows.begin(),
        {Fate::kEngine, "model", command->model,
         absl::StrCat("--model ", match->id, match->because.empty() ? "" : ": ",
                      match->because)});
  }
  v1::Target& target = *imported.import.engine.mutable_target();
  target.set_model_graph(ModelResource::Name(match->id));
  target.set_hardware_profile(HardwareResource::Name(flags.hardware));
  TakeStack(*profile, source.runtime, flags, &imported);
  TakeFormats(flags, target.mutable_precision());
  if (target.precision().ByteSizeLong() == 0) target.clear_precision();
  return imported;
}

absl::StatusOr<Answer> AnswerOf(const v1::Engine& engine,
                                const Imported& imported,
                                const Arguments& arguments,
                                const Style& style) {
  Answer answer;
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json = ImportJson(engine, imported.import.rows);
    if (!json.ok()) return json.status();
    answer.out = *std::move(json);
  } else if (arguments.output == OutputFormat::kTextproto) {
    answer.out = DataFileText(imported.import.engine);
  } else if (arguments.output == OutputFormat::kCsv) {
    answer.out = CsvText(FlagsReport(imported.import.rows));
  } else {
    answer.out =
        absl::StrCat(EngineText(engine, style), "\n",
                     TableText(FlagsReport(imported.import.rows), style));
  }
  for (const std::string& note : imported.notes) {
    absl::StrAppend(&answer.notes, "note: ", note, "\n");
  }
  if (arguments.quiet) return answer;
  const std::string& id = arguments.import.apply;
  if (id.empty() || arguments.catalog.dry_run) {
    absl::StrAppend(&answer.notes, "note: Nothing is stored",
                    id.empty() ? "; --apply ID does that.\n" : ".\n");
  } else {
    absl::StrAppend(&answer.notes, "next: mansard batch --engine ", id,
                    " --context N --itl TIME\n");
  }
  return answer;
}

}  // namespace

absl::StatusOr<Answer> RunEngineImport(const Session& session,
                                       const Arguments& arguments,
                                       const Style& style) {
  absl::StatusOr<Imported> imported = ImportFlagsOf(session, arguments);
  if (!imported.ok()) return imported.status();
  const bool check_alone =
      arguments.import.apply.empty() || arguments.catalog.dry_run;
  const std::string id =
      arguments.import.apply.empty() ? "imported" : arguments.import.apply;
  const absl::Status room =
      TakeFreeMemory(session, arguments, id, &imported->import);
  if (!room.ok()) return room;
  const absl::StatusOr<v1::Engine> written =
      Write(session, arguments, imported->import, id, check_alone);
  if (!written.ok()) return written.status();
  return AnswerOf(*written, *imported, arguments, style);
}

}  // namespace mansard::cli
