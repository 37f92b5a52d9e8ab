// `mansard model list|get|import`.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/model_file.h"
#include "clients/cli/output/model_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

absl::StatusOr<Answer> JsonAnswer(const google::protobuf::Message& message) {
  absl::StatusOr<std::string> json = JsonText(message);
  if (!json.ok()) return json.status();
  return Answer{.out = *std::move(json)};
}

// For standard error, beside an answer without prose.
std::string AssumptionNotes(const v1::ImportHuggingFaceConfigResponse& imported,
                            bool quiet) {
  std::string notes;
  if (quiet) return notes;
  for (const std::string& assumption : imported.assumptions()) {
    absl::StrAppend(&notes, "note: assumed: ", assumption, "\n");
  }
  return notes;
}

}  // namespace

absl::StatusOr<Answer> RunModelList(const Session& session,
                                    const Arguments& arguments,
                                    const Style& style) {
  const auto listed = session.ListAll(
      session.client().catalog(), &v1::CatalogService::Stub::ListModelGraphs);
  if (!listed.ok()) return listed.status();
  const v1::ListModelGraphsResponse& all = *listed;
  if (arguments.output == OutputFormat::kJson) return JsonAnswer(all);
  if (arguments.output == OutputFormat::kCsv) {
    return Answer{.out = CsvText(ModelListReport(all))};
  }
  Answer answer;
  answer.out = TableText(ModelListReport(all), style);
  if (!arguments.quiet) {
    absl::StrAppend(&answer.out,
                    "\nnext: mansard model get ID; a config.json of your own "
                    "works too: mansard model import FILE\n");
  }
  return answer;
}

absl::StatusOr<Answer> RunModelGet(const Session& session,
                                   const Arguments& arguments,
                                   const Style& style) {
  absl::StatusOr<v1::ModelGraph> found =
      GetModelGraph(session, arguments.operand);
  if (!found.ok()) return found.status();
  v1::ModelGraph& graph = *found;
  switch (arguments.output) {
    case OutputFormat::kJson:
      return JsonAnswer(graph);
    case OutputFormat::kTextproto:
      ClearOutputOnly(&graph);
      return Answer{.out = DataFileText(graph)};
    case OutputFormat::kCsv:
      return Answer{.out = CsvText(TensorClassReport(graph.size()))};
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kSvg:
      break;
  }
  return Answer{.out = ModelText(graph, style)};
}

absl::StatusOr<Answer> RunModelImport(const Session& session,
                                      const Arguments& arguments,
                                      const Style& style) {
  absl::StatusOr<v1::ImportHuggingFaceConfigResponse> imported =
      ImportConfig(session, arguments.operand);
  if (!imported.ok()) return imported.status();
  Answer answer;
  switch (arguments.output) {
    case OutputFormat::kJson:
      return JsonAnswer(*imported);
    case OutputFormat::kTextproto:
      ClearOutputOnly(imported->mutable_model_graph());
      answer.out = DataFileText(imported->model_graph());
      answer.notes = AssumptionNotes(*imported, arguments.quiet);
      return answer;
    case OutputFormat::kCsv:
      answer.out = CsvText(TensorClassReport(imported->model_graph().size()));
      answer.notes = AssumptionNotes(*imported, arguments.quiet);
      return answer;
    case OutputFormat::kTable:
    case OutputFormat::kMarkdown:
    case OutputFormat::kSvg:
      break;
  }
  answer.out = ModelText(imported->model_graph(), style);
  absl::StrAppend(&answer.out, "\n");
  for (const std::string& assumption : imported->assumptions()) {
    absl::StrAppend(&answer.out, "assumed: ", Wrapped(assumption, 9));
  }
  if (imported->ignored_keys_size() > 0) {
    absl::StrAppend(&answer.out, "ignored: ",
                    Wrapped(absl::StrJoin(imported->ignored_keys(), ", "), 9));
  }
  if (!arguments.quiet) {
    const std::string file =
        arguments.operand == "-" ? "FILE" : arguments.operand;
    absl::StrAppend(&answer.out,
                    "Nothing is stored.\nnext: mansard estimate "
                    "--model ",
                    file,
                    " --hardware ID --phase decode "
                    "--context N\n");
  }
  return answer;
}

}  // namespace mansard::cli
