// Shipped costs judged on measured runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/judge/judge.h"
#include "calibrate/serving/serving_target.h"
#include "calibrate/tables/serving_rows.h"
#include "model/hardware/engine_costs.h"
#include "model/hardware/kernel_families.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

// Milliseconds.
struct ServedRange {
  double predicted = 0;
  double p10 = 0;
  double p90 = 0;
  double floor = 0;
  double roofline = 0;
};
struct ServedPrediction {
  ServedRange tpot;
  ServedRange ttft;
  model::FitSituation situation = model::FitSituation::kNewModel;
  model::Tier tier = model::Tier::kSpec;
  std::string stack;
  // "D 7.1, P 110.2, wait 3.0, burst 31.8, queue 0.0, host 46.0": what both
  // times are made of, in ms, for people.
  std::string parts;
  // By the rules of the same names.
  bool slot_limited = false;
  bool starts_up = false;
};
struct ServedAnswer {
  std::optional<ServedPrediction> prediction;
  std::string reason;  // Why there is none: "model not in the catalog".
};

// One for each row: of those at a fixed concurrency that CountsForCoverage.
std::vector<ServedAnswer> PredictRows(const std::vector<ServingRow>& rows,
                                      const model::ShippedData& data,
                                      const TargetOptions& options);

struct ServedJudgeOptions {
  TargetOptions targets;
  JudgeOptions judge;
};
// Of times per token, then of those to the first token (tables
// "e2e_serving tpot" and "e2e_serving ttft"): what the targets are about first,
// then other lines, then by engine, device, model, precision, requests in
// flight and tensor ranks. Core runs that the fit saw are left out unless
// `judge.all_rows`; flagged rows always.
std::vector<Judgement> JudgeServed(const std::vector<ServingRow>& rows,
                                   const std::vector<ServedAnswer>& answers,
                                   const ServedJudgeOptions& options);

// The table with tpot_predicted_ms, tpot_p10_ms, tpot_p90_ms, tpot_floor_ms and
// the same of ttft_ after its own columns; empty where there is no answer.
// Error: the text is no table.
absl::StatusOr<std::string> WithServedPredictions(
    absl::string_view csv, const std::vector<ServedAnswer>& answers);

struct ServedValidation {
  std::vector<Judgement> judgements;
  std::string predictions;  // Empty where not asked for.
};
// With the shipped data. Error: the text is no table of runs; its name comes
// first.
absl::StatusOr<ServedValidation> ValidateServed(
    absl::string_view name, absl::string_view csv,
    const ServedJudgeOptions& options, bool predictions);

}  // namespace mansard::calibrate
