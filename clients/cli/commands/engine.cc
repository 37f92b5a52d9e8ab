// `mansard engine list|get|create`.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/engine_request.h"
#include "clients/cli/commands/resources.h"
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
  const absl::Status ids = RefuseFiles(arguments.estimate);
  if (!ids.ok()) return ids;
  absl::StatusOr<v1::Engine> engine = EngineOfFlags(arguments);
  if (!engine.ok()) return engine.status();
  v1::CreateEngineRequest request;
  request.set_engine_id(arguments.operand);
  request.set_validate_only(arguments.catalog.dry_run);
  *request.mutable_engine() = *std::move(engine);
  v1::Engine created;
  const absl::Status status = session.Call(
      session.client().catalog(), &v1::CatalogService::Stub::CreateEngine,
      request, &created, [&arguments](const std::string& field) {
        return FlagOfEngineField(arguments, field);
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

}  // namespace mansard::cli
