// `mansard engine load|observe`.
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/answer.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/message_table.h"
#include "clients/cli/commands/observe_metrics.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/commands/serving_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/input.h"
#include "clients/cli/output/observed_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

constexpr int64_t kMaxObservationBytes = 1'000'000;

absl::StatusOr<v1::ReportObservationsRequest> ReadObservations(
    const std::string& file) {
  v1::ReportObservationsRequest request;
  if (file.empty()) return request;
  const absl::StatusOr<std::string> text =
      ReadInput(file, kMaxObservationBytes);
  if (!text.ok()) return text.status();
  const std::string name = file == "-" ? "standard input" : file;
  const absl::Status read =
      LooksLikeJson(*text)
          ? ParseJson(name, *text, &request)
          : ReadMessageTable(name, *text, *v1::Observation::descriptor(),
                             {"shape", "step"},
                             [&request] { return request.add_observations(); });
  if (!read.ok()) return read;
  return request;
}

FieldNamer Namer(const Arguments& arguments) {
  return [&arguments](const std::string& field) {
    return field == "engine" || field == "engine.name"
               ? absl::StrCat("ID ", arguments.operand)
               : FlagOfServingField(arguments.serving, field);
  };
}

// Turns the factors on or off.
absl::Status Switch(const Session& session, const Arguments& arguments) {
  v1::UpdateEngineRequest request;
  request.mutable_engine()->set_name(EngineResource::Name(arguments.operand));
  request.mutable_engine()->set_apply_observed_factors(
      arguments.serving.apply == "on");
  request.mutable_update_mask()->add_paths("apply_observed_factors");
  request.set_validate_only(arguments.catalog.dry_run);
  v1::Engine engine;
  return session.Call(session.client().catalog(),
                      &v1::CatalogService::Stub::UpdateEngine, request, &engine,
                      Namer(arguments));
}

absl::StatusOr<Answer> Shown(const v1::ReportObservationsResponse& response,
                             const Arguments& arguments, const Style& style) {
  return AnswerAs(
      arguments.output, response, /*resolution=*/nullptr,
      [&] { return ObservedReport(response); },
      [&] { return ObservedText(response, style); });
}

}  // namespace

absl::StatusOr<Answer> RunEngineLoad(const Session& session,
                                     const Arguments& arguments,
                                     const Style& style) {
  absl::StatusOr<v1::EstimateServedLoadRequest> request =
      ServedLoadRequestOf(arguments.serving);
  if (!request.ok()) return request.status();
  request->set_engine(EngineResource::Name(arguments.operand));
  v1::EstimateServedLoadResponse response;
  const absl::Status called =
      session.Call(session.client().scheduling(),
                   &v1::SchedulingService::Stub::EstimateServedLoad, *request,
                   &response, Namer(arguments));
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  return AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] { return ServedLoadReport(response); },
      [&] {
        return WithFooter(ServedLoadText(response, style),
                          response.resolution(), arguments, style);
      });
}

absl::StatusOr<Answer> RunEngineObserve(const Session& session,
                                        const Arguments& arguments,
                                        const Style& style) {
  const ServingFlags& flags = arguments.serving;
  absl::StatusOr<v1::ReportObservationsRequest> request =
      ReadObservations(flags.observations);
  if (!request.ok()) return request.status();
  if (!flags.apply.empty()) {
    const absl::Status switched = Switch(session, arguments);
    if (!switched.ok()) return WithHint(switched, CatalogHint(switched));
  }
  if (!flags.from.empty()) {
    const absl::StatusOr<v1::ReportObservationsResponse> reported =
        ReportFromMetrics(session, arguments, Namer(arguments));
    if (!reported.ok()) return reported.status();
    return Shown(*reported, arguments, style);
  }
  if (flags.observations.empty() && !flags.forget) {
    const absl::StatusOr<v1::Engine> engine =
        EngineResource::Get(session, EngineResource::Name(arguments.operand));
    if (!engine.ok()) return engine.status();
    v1::ReportObservationsResponse shown;
    *shown.mutable_observed_factors() = engine->resolution().observed_factors();
    return Shown(shown, arguments, style);
  }
  request->set_engine(EngineResource::Name(arguments.operand));
  request->set_replace_all(flags.forget);
  request->set_validate_only(arguments.catalog.dry_run);
  v1::ReportObservationsResponse response;
  const absl::Status called =
      session.Call(session.client().calibration(),
                   &v1::CalibrationService::Stub::ReportObservations, *request,
                   &response, Namer(arguments));
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  return Shown(response, arguments, style);
}

}  // namespace mansard::cli
