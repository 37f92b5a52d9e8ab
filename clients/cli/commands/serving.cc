// `mansard engine predict|capacity|latency-model`.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/answer.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/resources.h"
#include "clients/cli/commands/serving_request.h"
#include "clients/cli/input.h"
#include "clients/cli/output/serving_text.h"

namespace mansard::cli {
namespace {

// Of one call.
constexpr int kMaxQueries = 512;
constexpr int64_t kMaxQueryBytes = 16'000'000;

// What a field of the request is called here.
FieldNamer Namer(const Arguments& arguments) {
  return [&arguments](const std::string& field) {
    return field == "engine" ? absl::StrCat("ID ", arguments.operand)
                             : FlagOfServingField(arguments.serving, field);
  };
}

absl::StatusOr<v1::PredictLatenciesRequest> QueriesOf(
    const Arguments& arguments) {
  const std::string& file = arguments.serving.queries;
  if (!file.empty()) {
    const absl::StatusOr<std::string> text = ReadInput(file, kMaxQueryBytes);
    if (!text.ok()) return text.status();
    return ReadQueries(file == "-" ? "standard input" : file, *text,
                       arguments.operand);
  }
  absl::StatusOr<v1::LatencyQuery> query = LatencyQueryOf(arguments.serving);
  if (!query.ok()) return query.status();
  query->set_engine(EngineResource::Name(arguments.operand));
  v1::PredictLatenciesRequest request;
  *request.add_queries() = *std::move(query);
  return request;
}

// Of any number of queries, in calls of as many as the service takes.
absl::StatusOr<v1::PredictLatenciesResponse> Predict(
    const Session& session, const v1::PredictLatenciesRequest& request) {
  v1::PredictLatenciesResponse all;
  for (int at = 0; at < request.queries_size(); at += kMaxQueries) {
    v1::PredictLatenciesRequest part;
    const int end = std::min(request.queries_size(), at + kMaxQueries);
    for (int i = at; i < end; ++i) *part.add_queries() = request.queries(i);
    v1::PredictLatenciesResponse response;
    const absl::Status called = session.Call(
        session.client().scheduling(),
        &v1::SchedulingService::Stub::PredictLatencies, part, &response);
    if (!called.ok()) return called;
    all.MergeFrom(response);
  }
  return all;
}

// Of the only query, which is the command itself.
absl::Status RowError(const Session& session,
                      const v1::PredictLatenciesResponse& response,
                      const Arguments& arguments) {
  if (!arguments.serving.queries.empty() || response.rows_size() != 1 ||
      !response.rows(0).has_error()) {
    return absl::OkStatus();
  }
  const google::rpc::Status& error = response.rows(0).error();
  return FromServer(grpc::Status(static_cast<grpc::StatusCode>(error.code()),
                                 error.message(), error.SerializeAsString()),
                    session.server(), Namer(arguments));
}

}  // namespace

absl::StatusOr<Answer> RunEnginePredict(const Session& session,
                                        const Arguments& arguments,
                                        const Style& style) {
  const absl::StatusOr<v1::PredictLatenciesRequest> request =
      QueriesOf(arguments);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::PredictLatenciesResponse> response =
      Predict(session, *request);
  if (!response.ok()) return response.status();
  const absl::Status wrong = RowError(session, *response, arguments);
  if (!wrong.ok()) return WithHint(wrong, CatalogHint(wrong));
  const auto report = [&] { return LatenciesReport(*request, *response); };
  return AnswerAs(arguments.output, *response, /*resolution=*/nullptr, report,
                  [&] { return TableText(report(), style); });
}

absl::StatusOr<Answer> RunEngineCapacity(const Session& session,
                                         const Arguments& arguments,
                                         const Style& style) {
  absl::StatusOr<v1::FindEngineCapacityRequest> request =
      CapacityRequestOf(arguments.serving);
  if (!request.ok()) return request.status();
  request->set_engine(EngineResource::Name(arguments.operand));
  v1::FindEngineCapacityResponse response;
  const absl::Status called =
      session.Call(session.client().scheduling(),
                   &v1::SchedulingService::Stub::FindEngineCapacity, *request,
                   &response, Namer(arguments));
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  absl::StatusOr<Answer> answer = AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] { return CapacityReport(response); },
      [&] {
        return WithFooter(CapacityText(*request, response, style),
                          response.resolution(), arguments, style);
      });
  if (answer.ok() && arguments.fail_if_infeasible && !response.meets_slo()) {
    answer->code = ExitCode::kInfeasible;
  }
  return answer;
}

absl::StatusOr<Answer> RunEngineLatencyModel(const Session& session,
                                             const Arguments& arguments,
                                             const Style& style) {
  absl::StatusOr<v1::FitLatencyModelRequest> request =
      LatencyModelRequestOf(arguments.serving);
  if (!request.ok()) return request.status();
  request->set_engine(EngineResource::Name(arguments.operand));
  v1::FitLatencyModelResponse response;
  const absl::Status called =
      session.Call(session.client().scheduling(),
                   &v1::SchedulingService::Stub::FitLatencyModel, *request,
                   &response, Namer(arguments));
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  return AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] { return LatencyModelReport(response); },
      [&] {
        return WithFooter(LatencyModelText(*request, response, style),
                          response.resolution(), arguments, style);
      });
}

}  // namespace mansard::cli
