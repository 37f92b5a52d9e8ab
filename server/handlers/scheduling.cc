#include "server/handlers/scheduling.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/status_macros.h"
#include "server/catalog/resource_name.h"
#include "server/convert/estimate.h"
#include "server/convert/serving.h"
#include "server/convert/workload.h"
#include "server/error.h"
#include "server/handlers/hardware_choice.h"

namespace mansard::server {
namespace {

// The one that `name` names: its violation is at "engine".
absl::StatusOr<const EngineEntry*> FindEngine(const CallContext& call,
                                              const std::string& name,
                                              model::Violations& violations) {
  if (name.empty()) {
    violations.Add("engine", "is required: engines/{engine}");
    return nullptr;
  }
  const std::optional<std::string> id =
      ParseResourceName(name, kEngines, "engine", violations);
  if (!id.has_value()) return nullptr;
  return call.state().FindEngine(*id);
}

// Null where it is not there, or broken.
const model::ServingEngine* EngineOf(
    const absl::StatusOr<const EngineEntry*>& entry) {
  return entry.ok() && *entry != nullptr ? (*entry)->engine.get() : nullptr;
}

// Of what an engine answers without a pass of the caller's.
void Resolve(const EngineEntry& entry, v1::Resolution& resolution) {
  resolution = entry.proto.resolution();
}

// Of served requests: a stack of kernels knows nothing of what an engine adds
// to them, where another stack of the device may.
void ResolveServed(const EngineEntry& entry, v1::Resolution& resolution) {
  Resolve(entry, resolution);
  const model::Target& target = entry.engine->target();
  const auto of_engines = [](const model::KernelStack& stack) {
    return stack.spec().engine_costs.has_value();
  };
  if (of_engines(target.view().stack)) return;
  const std::vector<std::string> served =
      StackIds(target.hardware(), of_engines);
  resolution.add_warnings(absl::StrCat(
      "kernel stack \"", target.view().stack.spec().id,
      "\" is of kernels alone: what the engine adds between them is left out",
      served.empty() ? "" : "; fitted to served runs on this device: ",
      absl::StrJoin(served, ", ")));
}

// Of an answer without a resolution.
template <class Answer>
void ShowFactors(const EngineEntry& entry, Answer& answer) {
  const v1::Resolution& resolution = entry.proto.resolution();
  if (!resolution.has_observed_factors()) return;
  *answer.mutable_observed_factors() = resolution.observed_factors();
}

// One row of PredictLatencies.
void Predict(const CallContext& call, const v1::LatencyQuery& query,
             model::StepTimer& timer, v1::PredictLatenciesResponse::Row& row) {
  model::Violations violations;
  const model::LatencyQuery asked = FromProto(query);
  const auto entry = FindEngine(call, query.engine(), violations);
  const model::ServingEngine* const engine = EngineOf(entry);
  std::optional<model::LatencyAnswer> answer;
  if (engine == nullptr) {
    model::CheckQuery(nullptr, asked, violations);
  } else {
    answer = model::PredictLatency(*engine, asked, timer, violations);
  }
  if (!violations.empty()) {
    *row.mutable_error() = ToRpcStatus(InvalidRequest(violations));
  } else if (!entry.ok()) {
    *row.mutable_error() = ToRpcStatus(entry.status());
  } else {
    ToProto(*answer, *row.mutable_prediction());
    ShowFactors(**entry, *row.mutable_prediction());
  }
}

}  // namespace

absl::Status RecommendBatchSize(CallContext& call,
                                const v1::RecommendBatchSizeRequest& request,
                                v1::RecommendBatchSizeResponse& response) {
  model::Violations violations;
  const model::BatchQuestion question = FromProto(request, violations);
  const auto entry = FindEngine(call, request.engine(), violations);
  const model::ServingEngine* const engine = EngineOf(entry);
  std::optional<model::BatchAnswer> answer;
  if (engine == nullptr) {
    model::CheckQuestion(nullptr, question, violations);
  } else {
    model::StepTimer timer;
    answer = model::RecommendBatch(*engine, question, timer, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(entry.status());
  call.metrics().engines().Recommended((*entry)->id, *answer);
  ToProto(*answer, question, *engine, response);
  Resolve(**entry, *response.mutable_resolution());
  return absl::OkStatus();
}

absl::Status PredictLatencies(CallContext& call,
                              const v1::PredictLatenciesRequest& request,
                              v1::PredictLatenciesResponse& response) {
  if (request.queries_size() < 1 ||
      request.queries_size() > kMaxLatencyQueries) {
    model::Violations violations;
    violations.Add("queries", absl::StrCat("has ", request.queries_size(),
                                           " entries; allowed: 1 to ",
                                           kMaxLatencyQueries));
    return InvalidRequest(violations);
  }
  model::StepTimer timer;
  response.mutable_rows()->Reserve(request.queries_size());
  for (const v1::LatencyQuery& query : request.queries()) {
    Predict(call, query, timer, *response.add_rows());
  }
  return absl::OkStatus();
}

absl::Status FindEngineCapacity(CallContext& call,
                                const v1::FindEngineCapacityRequest& request,
                                v1::FindEngineCapacityResponse& response) {
  model::Violations violations;
  const model::CapacityQuestion question = FromProto(request, violations);
  const auto entry = FindEngine(call, request.engine(), violations);
  const model::ServingEngine* const engine = EngineOf(entry);
  std::optional<model::CapacityAnswer> answer;
  if (engine == nullptr) {
    model::CheckCapacityQuestion(nullptr, question, violations);
  } else {
    model::StepTimer timer;
    answer = model::FindCapacity(*engine, question, timer, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(entry.status());
  ToProto(*answer, response);
  ResolveServed(**entry, *response.mutable_resolution());
  return absl::OkStatus();
}

absl::Status EstimateServedLoad(CallContext& call,
                                const v1::EstimateServedLoadRequest& request,
                                v1::EstimateServedLoadResponse& response) {
  model::Violations violations;
  const model::ServedLoad load = FromProto(request);
  const auto entry = FindEngine(call, request.engine(), violations);
  const model::ServingEngine* const engine = EngineOf(entry);
  std::optional<model::ServedAnswer> answer;
  model::StepTimer timer;
  if (engine == nullptr) {
    model::CheckServedLoad(nullptr, load, violations);
  } else {
    answer = model::EstimateServedLoad(*engine, load, timer, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(entry.status());
  ToProto(*answer, model::IntervalsOf(*engine, load, *answer, timer), response);
  ResolveServed(**entry, *response.mutable_resolution());
  return absl::OkStatus();
}

absl::Status FitLatencyModel(CallContext& call,
                             const v1::FitLatencyModelRequest& request,
                             v1::FitLatencyModelResponse& response) {
  model::Violations violations;
  const model::LatencyModelQuestion question = FromProto(request);
  const auto entry = FindEngine(call, request.engine(), violations);
  const model::ServingEngine* const engine = EngineOf(entry);
  std::optional<model::LatencyModel> answer;
  if (engine == nullptr) {
    model::CheckLatencyModelQuestion(nullptr, question, violations);
  } else {
    model::StepTimer timer;
    answer = model::FitLatencyModel(*engine, question, timer, violations);
  }
  if (!violations.empty()) return InvalidRequest(violations);
  RETURN_IF_ERROR(entry.status());
  ToProto(*answer, response);
  Resolve(**entry, *response.mutable_resolution());
  return absl::OkStatus();
}

void PredictStep(CallContext& call, StepStream& stream,
                 const v1::StreamPredictionsRequest& request,
                 v1::StreamPredictionsResponse& response) {
  response.Clear();
  response.set_correlation_id(request.correlation_id());
  if (!request.engine().empty()) stream.engine = request.engine();
  model::Violations violations;
  const absl::StatusOr<const EngineEntry*> entry =
      FindEngine(call, stream.engine, violations);
  // What the engine's graph does not say is not checked against it.
  const GraphFacts facts = entry.ok() && *entry != nullptr
                               ? (*entry)->resolved->graph
                               : TargetAnswer().graph;
  std::optional<model::ForwardPass> pass;
  {
    const model::Violations::Scope scope(violations, "forward_pass");
    pass = FromProto(request.forward_pass(), facts, violations);
  }
  if (!violations.empty()) {
    *response.mutable_error() = ToRpcStatus(InvalidRequest(violations));
  } else if (!entry.ok()) {
    *response.mutable_error() = ToRpcStatus(entry.status());
  } else {
    const model::StepPrediction step =
        (*entry)->engine->Step(*pass, stream.timer);
    ToProto(step, *response.mutable_step()->mutable_step_time());
    response.mutable_step()->set_bound(BoundToProto(step.bound));
    ShowFactors(**entry, *response.mutable_step());
  }
}

}  // namespace mansard::server
