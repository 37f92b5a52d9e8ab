// Flags of `mansard batch` and the questions of `mansard engine` as requests of
// SchedulingService, and back. UsageError for a text that is no number, time or
// word of a flag; the rest is the service's to check.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "mansard/v1/scheduling_service.pb.h"

namespace mansard::cli {

// Without the engine.
absl::StatusOr<v1::RecommendBatchSizeRequest> BatchRequestOf(
    const ServingFlags& flags);
absl::StatusOr<v1::LatencyQuery> LatencyQueryOf(const ServingFlags& flags);
absl::StatusOr<v1::FindEngineCapacityRequest> CapacityRequestOf(
    const ServingFlags& flags);
absl::StatusOr<v1::FitLatencyModelRequest> LatencyModelRequestOf(
    const ServingFlags& flags);

absl::StatusOr<v1::EstimateServedLoadRequest> ServedLoadRequestOf(
    const ServingFlags& flags);

// "--itl 20ms" for "slo.inter_token_latency_seconds"; empty where no flag set
// the field.
std::string FlagOfServingField(const ServingFlags& flags,
                               const std::string& field);

// "--itl" for "inter_token_latency_seconds", and what it says; empty for other
// fields.
std::string TargetFlag(const std::string& target);

// The rows of a file: a table in CSV, whose columns are called as the fields of
// LatencyQuery, EngineState and Slo, or a PredictLatenciesRequest in JSON. Rows
// without an engine are `engine`'s. Fails with the file's name and line.
absl::StatusOr<v1::PredictLatenciesRequest> ReadQueries(
    const std::string& name, const std::string& text,
    const std::string& engine);

}  // namespace mansard::cli
