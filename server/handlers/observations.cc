#include "server/handlers/observations.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "server/catalog/catalog.h"
#include "server/catalog/resource_name.h"
#include "server/convert/serving.h"
#include "server/error.h"

namespace mansard::server {
namespace {

// The engine's id.
std::optional<std::string> CheckRequest(
    const v1::ReportObservationsRequest& request,
    model::Violations& violations) {
  const int count = request.observations_size();
  const int fewest = request.replace_all() ? 0 : 1;
  if (count < fewest || count > kMaxObservations) {
    violations.Add("observations",
                   absl::StrCat("has ", count, " entries; allowed: ", fewest,
                                " to ", kMaxObservations));
  }
  if (request.engine().empty()) {
    violations.Add("engine", "is required: engines/{engine}");
    return std::nullopt;
  }
  return ParseResourceName(request.engine(), kEngines, "engine", violations);
}

void CheckObservations(const v1::ReportObservationsRequest& request,
                       const model::ServingEngine& engine,
                       model::Violations& violations) {
  for (int i = 0; i < request.observations_size(); ++i) {
    const model::Violations::Scope scope(
        violations, model::Indexed("observations", static_cast<size_t>(i)));
    model::CheckObservation(engine, FromProto(request.observations(i)),
                            violations);
  }
}

void AddRatios(const model::ObservedRatios& ratios,
               v1::ReportObservationsResponse& response) {
  auto& added = *response.add_ratios();
  if (ratios.step.has_value()) added.set_step_ratio(*ratios.step);
  if (ratios.first_token.has_value()) {
    added.set_first_token_ratio(*ratios.first_token);
  }
}

model::Phase PhaseOf(const v1::ForwardPassSums& step) {
  if (step.decode_request_count() == 0) return model::Phase::kPrefill;
  return step.prefill_request_count() == 0 ? model::Phase::kDecode
                                           : model::Phase::kMixed;
}

// What it took and what was predicted, for the metrics.
void Count(const std::string& engine_id, const v1::Observation& observation,
           const model::ObservedRatios& ratios, EngineMetrics& metrics) {
  const auto count = [&](model::Phase phase, double seconds,
                         const std::optional<double>& ratio) {
    if (!ratio.has_value()) return;
    metrics.Observed(engine_id, phase, model::Seconds::Of(seconds), *ratio);
  };
  if (observation.has_step()) {
    count(PhaseOf(observation.step()), observation.step_seconds(), ratios.step);
    return;
  }
  count(model::Phase::kDecode, observation.time_per_output_token_seconds(),
        ratios.step);
  count(model::Phase::kPrefill, observation.time_to_first_token_seconds(),
        ratios.first_token);
}

}  // namespace

absl::Status ReportObservations(CallContext& call,
                                const v1::ReportObservationsRequest& request,
                                v1::ReportObservationsResponse& response) {
  model::Violations violations;
  const std::optional<std::string> id = CheckRequest(request, violations);
  if (!id.has_value()) return InvalidRequest(violations);
  CatalogWriter writer(call.catalog());
  RETURN_IF_ERROR(call.CheckAlive());
  const absl::StatusOr<const EngineEntry*> current =
      writer.base().FindEngine(*id);
  if (current.ok() && violations.empty()) {
    CheckObservations(request, *(*current)->engine, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(current.status());
  ASSIGN_OR_RETURN(
      const std::shared_ptr<const EngineEntry> entry,
      MakeObserved(writer.snapshot(), **current, request.observations(),
                   request.replace_all(), writer.now()));
  RETURN_IF_ERROR(writer.Put(*id, entry, request.validate_only()));
  ToProto(entry->observed, entry->proto.apply_observed_factors(),
          *response.mutable_observed_factors());
  const auto& ratios = entry->observed.ratios;
  const int reported = request.observations_size();
  const size_t first = ratios.size() - static_cast<size_t>(reported);
  for (int i = 0; i < reported; ++i) {
    const model::ObservedRatios& of_one =
        ratios[first + static_cast<size_t>(i)];
    AddRatios(of_one, response);
    if (request.validate_only()) continue;
    Count(*id, request.observations(i), of_one, call.metrics().engines());
  }
  return absl::OkStatus();
}

}  // namespace mansard::server
