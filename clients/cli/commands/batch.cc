// `mansard batch`.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands/answer.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/engine_request.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/commands/serving_request.h"
#include "clients/cli/input.h"
#include "clients/cli/output/serving_text.h"

namespace mansard::cli {
namespace {

// Of what a command line says beside --engine.
absl::Status RefuseTarget(const Arguments& arguments) {
  Arguments nothing;
  nothing.estimate.model = arguments.estimate.model;
  nothing.estimate.hardware = arguments.estimate.hardware;
  const absl::StatusOr<v1::Engine> said = EngineOfFlags(arguments);
  if (!said.ok()) return said.status();
  const absl::StatusOr<v1::Engine> empty = EngineOfFlags(nothing);
  if (!empty.ok()) return empty.status();
  if (arguments.estimate.model.empty() && arguments.estimate.hardware.empty() &&
      said->SerializeAsString() == empty->SerializeAsString()) {
    return absl::OkStatus();
  }
  return UsageError(
      absl::StrCat("--engine ", arguments.estimate.engine,
                   " stands beside flags that say what runs where, or how; "
                   "allowed: one or the other"),
      "mansard engine get ID shows what an engine is");
}

absl::StatusOr<Answer> Ask(const Session& asked, const std::string& engine,
                           const std::vector<std::string>& assumptions,
                           const Arguments& arguments, const Style& style) {
  absl::StatusOr<v1::RecommendBatchSizeRequest> request =
      BatchRequestOf(arguments.serving);
  if (!request.ok()) return request.status();
  request->set_engine(engine);
  v1::RecommendBatchSizeResponse response;
  const absl::Status called = asked.Call(
      asked.client().scheduling(),
      &v1::SchedulingService::Stub::RecommendBatchSize, *request, &response,
      [&arguments](const std::string& field) {
        return field == "engine"
                   ? absl::StrCat("--engine ", arguments.estimate.engine)
                   : FlagOfServingField(arguments.serving, field);
      });
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  absl::StatusOr<Answer> answer = AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] { return BatchReport(response); },
      [&] {
        return WithFooter(BatchText(*request, response, style),
                          response.resolution(), arguments, style, assumptions);
      });
  if (answer.ok() && arguments.fail_if_infeasible &&
      response.max_batch_request_count() == 0) {
    answer->code = ExitCode::kInfeasible;
  }
  return answer;
}

// The id of "modelGraphs/x@revision", or of a file.
std::string ScratchId(const std::string& value, const char* of_file) {
  if (NamesFile(value)) return of_file;
  const std::string id = value.substr(value.rfind('/') + 1);
  return id.substr(0, id.find('@'));
}

// Puts model and hardware where `asked` finds them; answers its names for them.
absl::Status Bring(const Session& catalog, const Session& asked,
                   EstimateFlags* flags,
                   std::vector<std::string>* assumptions) {
  if (flags->model == "-" && flags->hardware == "-") {
    return UsageError("--model and --hardware are both \"-\"; allowed: one",
                      "standard input holds one file");
  }
  v1::ModelGraph graph;
  if (NamesFile(flags->model)) {
    auto loaded = LoadModelFile(catalog, flags->model);
    if (!loaded.ok()) return loaded.status();
    graph = loaded->model_graph();
    assumptions->assign(loaded->assumptions().begin(),
                        loaded->assumptions().end());
  } else {
    absl::StatusOr<v1::ModelGraph> stored =
        GetModelGraph(catalog, flags->model);
    if (!stored.ok()) return stored.status();
    graph = *std::move(stored);
  }
  absl::StatusOr<v1::HardwareProfile> profile =
      NamesFile(flags->hardware)
          ? LoadHardwareFile(flags->hardware)
          : HardwareResource::Get(catalog,
                                  HardwareResource::Name(flags->hardware));
  if (!profile.ok()) return profile.status();
  ClearOutputOnly(&graph);
  ClearOutputOnly(&*profile);
  flags->model = ScratchId(flags->model, "model");
  flags->hardware = ScratchId(flags->hardware, "hardware");
  graph.set_name(ModelResource::Name(flags->model));
  profile->set_name(HardwareResource::Name(flags->hardware));
  const auto model = ModelResource::Apply(asked, graph, /*dry_run=*/false);
  if (!model.ok()) return model.status();
  return HardwareResource::Apply(asked, *profile, /*dry_run=*/false).status();
}

}  // namespace

absl::StatusOr<Answer> RunBatch(const Session& asked,
                                const Arguments& arguments,
                                const Style& style) {
  const absl::Status alone = RefuseTarget(arguments);
  if (!alone.ok()) return alone;
  return Ask(asked, EngineResource::Name(arguments.estimate.engine), {},
             arguments, style);
}

absl::StatusOr<Answer> RunBatchOfTarget(const Session& catalog,
                                        const Session& asked,
                                        const Arguments& arguments,
                                        const Style& style) {
  // What is wrong with the question needs no engine.
  const auto question = BatchRequestOf(arguments.serving);
  if (!question.ok()) return question.status();
  Arguments scratch = arguments;
  std::vector<std::string> assumptions;
  const absl::Status brought =
      Bring(catalog, asked, &scratch.estimate, &assumptions);
  if (!brought.ok()) return brought;
  absl::StatusOr<v1::Engine> engine = EngineOfFlags(scratch);
  if (!engine.ok()) return engine.status();
  v1::CreateEngineRequest request;
  request.set_engine_id("target");
  *request.mutable_engine() = *std::move(engine);
  v1::Engine created;
  const absl::Status status = asked.Call(
      asked.client().catalog(), &v1::CatalogService::Stub::CreateEngine,
      request, &created, [&arguments](const std::string& field) {
        return FlagOfEngineField(arguments, field);
      });
  if (!status.ok()) return WithHint(status, CatalogHint(status));
  absl::StatusOr<Answer> answer =
      Ask(asked, created.name(), assumptions, arguments, style);
  if (answer.ok() && !catalog.embedded() && !arguments.quiet) {
    absl::StrAppend(&answer->notes,
                    "note: Computed by this program, with the "
                    "catalog of ",
                    catalog.server(), "\n");
  }
  return answer;
}

}  // namespace mansard::cli
