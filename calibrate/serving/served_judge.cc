#include "calibrate/serving/served_judge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/judge/errors.h"
#include "calibrate/serving/served_run.h"
#include "calibrate/tables/csv.h"
#include "calibrate/tables/serving_rules.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::FitSituation;
using model::ToMilliseconds;

// What is aimed at: medians, of configurations of known models.
constexpr double kTpotAim = 0.06;
constexpr double kTtftAim = 0.20;

FitSituation SituationOf(const ServingRow& row,
                         const model::EngineCosts& costs) {
  if (!costs.fitted_device) return FitSituation::kNewDevice;
  const auto& models = costs.fitted_models;
  return std::find(models.begin(), models.end(), row.model) != models.end()
             ? FitSituation::kKnown
             : FitSituation::kNewModel;
}

ServedRange RangeAround(model::Seconds time, model::Seconds floor,
                        model::Seconds roofline,
                        const model::RatioRange& ratios) {
  ServedRange range;
  range.floor = ToMilliseconds(floor);
  range.predicted = ToMilliseconds(time);
  range.roofline = ToMilliseconds(roofline);
  range.p10 = std::min(range.predicted, range.predicted / ratios.p90);
  range.p90 = std::max(range.predicted, range.predicted / ratios.p10);
  return range;
}

std::string PartsText(const model::ServedPassTimes& passes,
                      const model::FirstTokenParts& parts) {
  return absl::StrFormat(
      "in ms: decode pass %.2f, prompt pass %.2f; first token: wait %.1f, "
      "burst %.1f, queue %.1f, passes %.1f, host %.1f",
      ToMilliseconds(passes.decode), ToMilliseconds(passes.prompt),
      ToMilliseconds(parts.wait), ToMilliseconds(parts.burst),
      ToMilliseconds(parts.queue), ToMilliseconds(parts.decode_passes),
      ToMilliseconds(parts.constants));
}

ServedPrediction PredictionOf(const ServedRun& run,
                              const ServedTarget& served) {
  const model::KernelStackSpec& stack = served.target.view().stack.spec();
  // Prices hold the costs of steps where the stack has some.
  model::EngineCosts costs = UnfittedCosts(run.row->engine);
  ServedPrediction prediction;
  prediction.situation = FitSituation::kNewDevice;
  if (stack.engine_costs.has_value()) {
    costs = *stack.engine_costs;
    costs.costs = {};
    prediction.situation = SituationOf(*run.row, *stack.engine_costs);
    prediction.tier = prediction.situation == FitSituation::kKnown
                          ? model::Tier::kCalibrated
                          : model::Tier::kTransferred;
  }
  const model::ServedTimes times =
      TimesOfRun(run, costs.costs, costs.first_token);
  const model::ServedTimes floor = FloorOf(run);
  const model::ServedTimes roofline = RooflineOf(run);
  const auto at = static_cast<size_t>(prediction.situation);
  prediction.tpot = RangeAround(
      *times.values.time_per_output_token, *floor.values.time_per_output_token,
      *roofline.values.time_per_output_token, costs.tpot_ranges[at]);
  prediction.ttft = RangeAround(
      *times.values.time_to_first_token, *floor.values.time_to_first_token,
      *roofline.values.time_to_first_token, costs.ttft_ranges[at]);
  prediction.stack = stack.id;
  prediction.parts =
      PartsText(PassesOf(run.parts, costs.costs), times.first_token);
  prediction.slot_limited = run.slot_limited;
  return prediction;
}

struct OneTime {
  bool tpot = true;
  double Measured(const ServingRow& row) const {
    return tpot ? row.tpot_ms : row.ttft_ms;
  }
  const ServedRange& Of(const ServedPrediction& prediction) const {
    return tpot ? prediction.tpot : prediction.ttft;
  }
};

class Judging {
 public:
  Judging(const std::vector<ServingRow>& rows,
          const std::vector<ServedAnswer>& answers,
          const ServedJudgeOptions& options, OneTime time)
      : rows_(rows),
        answers_(answers),
        standings_(StandingsOf(rows)),
        options_(options),
        time_(time) {}

  using Counts = std::function<bool(size_t)>;
  // Nothing where no row counts.
  void Add(const std::string& slice, const Counts& counts, double aim,
           std::vector<Judgement>& judgements) const {
    Judgement judgement;
    judgement.table = time_.tpot ? "e2e_serving tpot" : "e2e_serving ttft";
    judgement.device = "all";
    judgement.framework = "all";
    judgement.slice = slice;
    judgement.tier = model::Tier::kCalibrated;
    if (aim > 0) judgement.target = Target{aim, true};
    ErrorSums errors;
    ErrorSums rooflines;
    std::vector<SizedError> sized;
    std::vector<std::pair<double, WorstRow>> worst;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const double measured = time_.Measured(rows_[i]);
      if (!counts(i) || measured <= 0) continue;
      ++judgement.rows;
      const auto& prediction = answers_[i].prediction;
      if (!prediction.has_value()) {
        ++judgement.unanswered[static_cast<size_t>(Unanswered::kWork)];
        continue;
      }
      const ServedRange& range = time_.Of(*prediction);
      const double error = range.predicted / measured - 1;
      const bool inside = range.p10 <= measured && measured <= range.p90;
      errors.Add(error, inside);
      rooflines.Add(range.roofline / measured - 1, false);
      sized.push_back({rows_[i].in_flight(), error, inside});
      judgement.tier = std::min(judgement.tier, prediction->tier);
      judgement.stack = prediction->stack;
      worst.emplace_back(-std::abs(error), WorstOf(i, *prediction));
    }
    if (judgement.rows == 0) return;
    judgement.answered = sized.size();
    judgement.all = judgement.in_target = errors.Result();
    judgement.all_roofline = judgement.in_target_roofline = rooflines.Result();
    judgement.deciles = DecilesOf(std::move(sized));
    std::stable_sort(
        worst.begin(), worst.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < std::min(worst.size(), options_.judge.worst_rows);
         ++i) {
      judgement.worst.push_back(std::move(worst[i].second));
    }
    judgements.push_back(std::move(judgement));
  }

  bool IsCore(size_t i) const {
    const auto& prediction = answers_[i].prediction;
    const bool slots = prediction.has_value() && prediction->slot_limited;
    return standings_[i] == RowStanding::kCore && !slots &&
           (time_.tpot || !prediction.has_value() || !prediction->starts_up) &&
           (options_.judge.all_rows || IsHeldOut(rows_[i]));
  }
  RowStanding standing(size_t i) const { return standings_[i]; }

 private:
  WorstRow WorstOf(size_t i, const ServedPrediction& prediction) const {
    const ServingRow& row = rows_[i];
    WorstRow worst;
    worst.row = row.row;
    worst.shape = absl::StrCat(
        row.device, " ", row.model, " ", row.precision, " ", row.engine, " ",
        row.version, " tp ", row.layout.tensor, " ", row.input_tokens, "/",
        row.output_tokens, " x ", row.in_flight(), ": ", prediction.parts);
    worst.measured = model::Milliseconds(time_.Measured(row));
    worst.predicted = model::Milliseconds(time_.Of(prediction).predicted);
    worst.in_target = true;
    return worst;
  }

  const std::vector<ServingRow>& rows_;
  const std::vector<ServedAnswer>& answers_;
  std::vector<RowStanding> standings_;
  const ServedJudgeOptions& options_;
  OneTime time_;
};

std::string InFlightText(double in_flight) {
  if (in_flight <= 4) return "1 to 4 in flight";
  if (in_flight <= 16) return "5 to 16 in flight";
  return in_flight <= 64 ? "17 to 64 in flight" : "more than 64 in flight";
}

void AddSlices(const Judging& judging, const std::vector<ServingRow>& rows,
               std::vector<Judgement>& judgements) {
  const std::function<std::string(const ServingRow&)> labels[] = {
      [](const ServingRow& row) { return row.engine; },
      [](const ServingRow& row) { return row.device; },
      [](const ServingRow& row) { return ModelFamily(row); },
      [](const ServingRow& row) { return row.precision; },
      [](const ServingRow& row) { return InFlightText(row.in_flight()); },
      [](const ServingRow& row) {
        return absl::StrCat("tp ", row.layout.tensor);
      }};
  for (const auto& label : labels) {
    std::map<std::string, std::vector<size_t>> members;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (judging.IsCore(i)) members[label(rows[i])].push_back(i);
    }
    for (const auto& [name, of_name] : members) {
      judging.Add(
          name,
          [&, of = &of_name](size_t i) {
            return std::binary_search(of->begin(), of->end(), i);
          },
          0, judgements);
    }
  }
}

}  // namespace

std::vector<ServedAnswer> PredictRows(const std::vector<ServingRow>& rows,
                                      const model::ShippedData& data,
                                      const TargetOptions& options) {
  ServingTargets targets(data, options);
  ServingTargets unfitted(data, {.fitted = false});
  const std::vector<ServedRun> runs = RunsOf(rows, targets);
  const std::vector<ServedRun> unfitted_runs = RunsOf(rows, unfitted);
  std::vector<ServedAnswer> answers(rows.size());
  for (const ServedRun& run : runs) {
    const MaybeTarget& target = targets.TargetOf(*run.row);
    answers[static_cast<size_t>(run.row - rows.data())].prediction =
        PredictionOf(run,
                     *std::get<std::shared_ptr<const ServedTarget>>(target));
  }
  for (const ServedRun& run : unfitted_runs) {
    auto& answer = answers[static_cast<size_t>(run.row - rows.data())];
    if (answer.prediction.has_value()) {
      answer.prediction->starts_up = StartsUp(run);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (answers[i].prediction.has_value()) continue;
    if (!rows[i].CountsForCoverage() ||
        rows[i].load != LoadType::kFixedConcurrency) {
      answers[i].reason = "another kind of run";
      continue;
    }
    const auto* why = std::get_if<NoTarget>(&targets.TargetOf(rows[i]));
    answers[i].reason = why != nullptr ? why->reason : "no output";
  }
  return answers;
}

std::vector<Judgement> JudgeServed(const std::vector<ServingRow>& rows,
                                   const std::vector<ServedAnswer>& answers,
                                   const ServedJudgeOptions& options) {
  std::vector<Judgement> judgements;
  for (const bool tpot : {true, false}) {
    const Judging judging(rows, answers, options, {tpot});
    judging.Add(
        options.judge.all_rows ? "core runs" : "core runs that no fit saw",
        [&](size_t i) { return judging.IsCore(i); }, tpot ? kTpotAim : kTtftAim,
        judgements);
    const std::pair<const char*, RowStanding> apart[] = {
        {"Qwen3-235B and Llama-3.1-8B, never fitted", RowStanding::kGap},
        {"drafts suspected", RowStanding::kDraftsSuspected}};
    for (const auto& [name, standing] : apart) {
      judging.Add(
          name,
          [&, wanted = standing](size_t i) {
            return judging.standing(i) == wanted;
          },
          0, judgements);
    }
    judging.Add(
        "all unflagged runs, those of the fit too",
        [&](size_t i) {
          return judging.standing(i) == RowStanding::kCore ||
                 judging.standing(i) == RowStanding::kGap ||
                 judging.standing(i) == RowStanding::kDraftsSuspected;
        },
        0, judgements);
    AddSlices(judging, rows, judgements);
  }
  return judgements;
}

absl::StatusOr<std::string> WithServedPredictions(
    absl::string_view csv, const std::vector<ServedAnswer>& answers) {
  CsvReader reader(csv);
  std::string out =
      absl::StrCat(reader.line_text(),
                   ",tpot_predicted_ms,tpot_p10_ms,tpot_p90_ms,tpot_floor_ms,"
                   "ttft_predicted_ms,ttft_p10_ms,ttft_p90_ms,ttft_floor_ms\n");
  std::vector<std::string> cells;
  for (size_t row = 0;; ++row) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
    if (!more) return out;
    absl::StrAppend(&out, reader.line_text());
    const ServedPrediction* prediction =
        row < answers.size() && answers[row].prediction.has_value()
            ? &*answers[row].prediction
            : nullptr;
    if (prediction == nullptr) {
      absl::StrAppend(&out, ",,,,,,,,\n");
      continue;
    }
    for (const ServedRange* range : {&prediction->tpot, &prediction->ttft}) {
      absl::StrAppendFormat(&out, ",%.6g,%.6g,%.6g,%.6g", range->predicted,
                            range->p10, range->p90, range->floor);
    }
    out += "\n";
  }
}

absl::StatusOr<ServedValidation> ValidateServed(
    absl::string_view name, absl::string_view csv,
    const ServedJudgeOptions& options, bool predictions) {
  absl::StatusOr<std::vector<ServingRow>> rows = ReadServingRows(csv);
  if (!rows.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", rows.status().message()));
  }
  ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
  const std::vector<ServedAnswer> answers =
      PredictRows(*rows, data, options.targets);
  ServedValidation validation;
  validation.judgements = JudgeServed(*rows, answers, options);
  if (predictions) {
    ASSIGN_OR_RETURN(validation.predictions,
                     WithServedPredictions(csv, answers));
  }
  return validation;
}

}  // namespace mansard::calibrate
