#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibrate/serving/fit_served.h"
#include "calibrate/serving/other_runs.h"
#include "calibrate/tables/serving_recipes.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using Counts = std::function<bool(size_t)>;

// Percent, 0: none.
struct Aim {
  double median = 0;
  double mean = 0;
};

struct Line {
  std::string name;
  const std::vector<RunPrediction>* predictions;
  Counts counts;
  Aim tpot;
  Aim ttft;
};

class Report {
 public:
  Report(const std::vector<ServedRun>& runs, const CrossValidation& validation)
      : runs_(runs), validation_(validation) {
    for (const ServedRun& run : runs) starts_up_.push_back(StartsUp(run));
  }

  std::string Text(const std::vector<ServingRow>& rows,
                   const model::ShippedData& data) const {
    std::string text = Covered(rows, data) + Counted(rows);
    for (const ServedTime time : {ServedTime::kTpot, ServedTime::kTtft}) {
      absl::StrAppend(&text, "\n### ",
                      time == ServedTime::kTpot ? "Time per output token"
                                                : "Time to the first token",
                      "\n\n", kHead);
      for (const Line& line : Lines()) Append(line, time, text);
      absl::StrAppend(
          &text, "\nBy slice, of configurations that no fit saw:\n\n", kHead);
      for (const Line& line : Slices()) Append(line, time, text);
    }
    return text;
  }

 private:
  static constexpr char kHead[] =
      "| runs | n | median % | mean % | p90 % | bias % | aim | roofline "
      "median % | p10 to p90 holds % |\n|---|--:|--:|--:|--:|--:|---|--:|--:|"
      "\n";

  bool IsCore(size_t run) const { return runs_[run].IsCore(); }

  std::vector<Line> Lines() const {
    const Counts core = [this](size_t run) { return IsCore(run); };
    const auto stands = [this](RowStanding wanted) -> Counts {
      return
          [this, wanted](size_t run) { return runs_[run].standing == wanted; };
    };
    const Counts unflagged = [this](size_t run) {
      const RowStanding standing = runs_[run].standing;
      return standing == RowStanding::kCore || standing == RowStanding::kGap ||
             standing == RowStanding::kDraftsSuspected;
    };
    const Counts with_factor = [this](size_t run) {
      return validation_.has_factor[run];
    };
    return {
        {"configuration of a known model",
         &validation_.configuration,
         core,
         {6, 9},
         {20, 24}},
        {"model never fitted", &validation_.model, core, {9, 11}, {24, 28}},
        {"device never fitted", &validation_.device, core, {10, 13}, {}},
        {"three runs of the deployment, model never fitted",
         &validation_.three_rows,
         with_factor,
         {4, 6},
         {12, 20}},
        {"nothing fitted to runs", &validation_.unfitted, core, {}, {}},
        {"fitted to all of them (in sample)",
         &validation_.in_sample,
         core,
         {},
         {}},
        {"Qwen3-235B and Llama-3.1-8B, model never fitted",
         &validation_.model,
         stands(RowStanding::kGap),
         {},
         {}},
        {"drafts suspected, configuration never fitted",
         &validation_.configuration,
         stands(RowStanding::kDraftsSuspected),
         {},
         {}},
        {"all unflagged runs, configuration never fitted",
         &validation_.configuration,
         unflagged,
         {},
         {}},
        {"all unflagged runs, model never fitted",
         &validation_.model,
         unflagged,
         {},
         {}},
    };
  }

  using Label = std::function<std::string(const ServedRun&)>;
  std::vector<Line> Slices() const {
    const Label labels[] = {
        [](const ServedRun& run) { return run.row->engine; },
        [](const ServedRun& run) { return run.row->device; },
        [](const ServedRun& run) { return ModelFamily(*run.row); },
        [](const ServedRun& run) { return run.row->precision; },
        [](const ServedRun& run) {
          const double in_flight = run.row->in_flight();
          return in_flight <= 4    ? std::string("1 to 4 in flight")
                 : in_flight <= 16 ? std::string("5 to 16 in flight")
                 : in_flight <= 64 ? std::string("17 to 64 in flight")
                                   : std::string("more than 64 in flight");
        },
        [](const ServedRun& run) {
          return absl::StrCat("tp ", run.row->layout.tensor);
        },
        [](const ServedRun& run) {
          return std::string(run.load.concurrency > run.parts.batch
                                 ? "limited by the cache"
                                 : "not limited by the cache");
        },
        [](const ServedRun& run) {
          return std::string(RecipeOf(*run.row).max_batched_tokens > 0
                                 ? "set up as a public recipe"
                                 : "set up in a way nobody knows");
        }};
    std::vector<Line> lines;
    for (const Label& label : labels) {
      std::set<std::string> names;
      for (const ServedRun& run : runs_) {
        if (run.IsCore()) names.insert(label(run));
      }
      for (const std::string& name : names) {
        lines.push_back({name,
                         &validation_.configuration,
                         [this, label, name](size_t run) {
                           return IsCore(run) && label(runs_[run]) == name;
                         },
                         {},
                         {}});
      }
    }
    return lines;
  }

  // Rows whose own range was made without them: by halves of the rows, each
  // with the other's quantiles.
  double Held(const Line& line, ServedTime time, const Counts& counts) const {
    std::array<model::RatioRange, 2> ranges;
    const auto half = [this](size_t run) {
      return FoldOf(absl::StrCat(runs_[run].row->row), 2);
    };
    for (int side = 0; side < 2; ++side) {
      ranges[static_cast<size_t>(side)] =
          RangeOf(runs_, *line.predictions, time, [&](size_t run) {
            return IsCore(run) && half(run) != side &&
                   (time == ServedTime::kTpot || !starts_up_[run]);
          });
    }
    double held = 0;
    double rows = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      const bool tpot = time == ServedTime::kTpot;
      const double measured =
          tpot ? runs_[i].row->tpot_ms : runs_[i].row->ttft_ms;
      if (!counts(i) || measured <= 0) continue;
      const RunPrediction& prediction = (*line.predictions)[i];
      const double ratio =
          (tpot ? prediction.tpot_ms : prediction.ttft_ms) / measured;
      const auto& range = ranges[static_cast<size_t>(half(i))];
      held += ratio >= range.p10 && ratio <= range.p90 ? 1 : 0;
      ++rows;
    }
    return rows == 0 ? 0 : 100 * held / rows;
  }

  Errors Rooflines(ServedTime time, const Counts& counts) const {
    std::vector<RunPrediction> rooflines;
    for (const ServedRun& run : runs_) {
      const model::ServedTimes times = RooflineOf(run);
      rooflines.push_back(
          {model::ToMilliseconds(*times.values.time_per_output_token),
           model::ToMilliseconds(*times.values.time_to_first_token)});
    }
    return ErrorsOf(runs_, rooflines, time, counts);
  }

  void Append(const Line& line, ServedTime time, std::string& text) const {
    const Counts counts = [&](size_t run) {
      return line.counts(run) &&
             (time == ServedTime::kTpot || !starts_up_[run]);
    };
    const Errors errors = ErrorsOf(runs_, *line.predictions, time, counts);
    if (errors.rows == 0) return;
    const Aim& aim = time == ServedTime::kTpot ? line.tpot : line.ttft;
    const bool misses = 100 * errors.median > aim.median + .05 ||
                        100 * errors.mean > aim.mean + .05;
    absl::StrAppendFormat(
        &text, "| %s | %d | %.1f | %.1f | %.1f | %+.1f | %s | %.1f | %.0f |\n",
        line.name, errors.rows, 100 * errors.median, 100 * errors.mean,
        100 * errors.p90, 100 * errors.bias,
        aim.median == 0 ? ""
                        : absl::StrFormat("%.0f / %.0f%s", aim.median, aim.mean,
                                          misses ? ", missed" : ""),
        100 * Rooflines(time, counts).median, Held(line, time, counts));
  }

  static std::string Covered(const std::vector<ServingRow>& rows,
                             const model::ShippedData& data) {
    ServingTargets targets(data, {.fitted = false});
    std::array<size_t, 2> counting{};  // All, and without a flag.
    std::array<size_t, 2> answered{};
    for (const ServingRow& row : rows) {
      if (!row.CountsForCoverage()) continue;
      const bool has_answer =
          !std::holds_alternative<NoTarget>(targets.TargetOf(row)) &&
          (row.load == LoadType::kFixedConcurrency ||
           row.load == LoadType::kStaticBatch);
      for (const size_t of : {size_t{0}, size_t{1}}) {
        if (of == 1 && !row.flag.empty()) continue;
        ++counting[of];
        answered[of] += has_answer ? 1 : 0;
      }
    }
    return absl::StrFormat(
        "Answered: %d of %d rows that are aggregated and have a time per "
        "token, "
        "a precision and a batch or concurrency; of those without a flag %d of "
        "%d.\n\n",
        answered[0], counting[0], answered[1], counting[1]);
  }

  std::string Counted(const std::vector<ServingRow>& rows) const {
    std::array<size_t, kRowStandingCount> standings{};
    for (const RowStanding standing : StandingsOf(rows)) {
      ++standings[static_cast<size_t>(standing)];
    }
    std::string text =
        absl::StrCat(rows.size(), " rows:\n\n| rows | n |\n|---|--:|\n");
    for (size_t i = 0; i < standings.size(); ++i) {
      absl::StrAppend(&text, "| ", RowStandingText(static_cast<RowStanding>(i)),
                      " | ", standings[i], " |\n");
    }
    size_t slots = 0;
    size_t start_ups = 0;
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].standing != RowStanding::kCore) continue;
      if (runs_[i].slot_limited) ++slots;
      if (runs_[i].IsCore() && starts_up_[i]) ++start_ups;
    }
    absl::StrAppend(
        &text, "| of core: limited by slots that no column names | ", slots,
        " |\n| of core: start-up in the time to the first "
        "token | ",
        start_ups, " |\n");
    return text;
  }

  const std::vector<ServedRun>& runs_;
  const CrossValidation& validation_;
  std::vector<bool> starts_up_;
};

// "vLLM" of Splitwise and of other sources are years apart.
std::string OtherName(const ServingRow& row) {
  if (row.mode == ServingMode::kDisaggregated) {
    return absl::StrCat("pools of prompts and decodes, ", row.engine);
  }
  return absl::StrCat(
      "static batch, ", row.engine,
      absl::StrContains(row.source, "splitwise") ? " of Splitwise" : "");
}

struct OtherErrors {
  ErrorSums latency;
  ErrorSums tpot;
  ErrorSums ttft;
  size_t rows = 0;
  size_t answered = 0;
};

std::string Figures(ErrorSums& sums) {
  const Errors errors = sums.Result();
  if (errors.rows == 0) return " | ";
  return absl::StrFormat("%d | %.1f / %.1f", errors.rows, 100 * errors.median,
                         100 * errors.mean);
}

std::string OtherText(const std::vector<ServingRow>& rows,
                      const model::ShippedData& data) {
  OtherRuns others(data);
  std::map<std::string, OtherErrors> by_name;
  const auto add = [](double predicted, double measured, ErrorSums& sums) {
    if (measured > 0) sums.Add(predicted / measured - 1, false);
  };
  for (const ServingRow& row : rows) {
    if (!row.flag.empty()) continue;
    const bool pools = row.mode == ServingMode::kDisaggregated &&
                       row.prefill.workers > 0 && row.decode.workers > 0;
    if (!pools && row.load != LoadType::kStaticBatch) continue;
    OtherErrors& errors = by_name[OtherName(row)];
    ++errors.rows;
    const auto prediction =
        pools ? others.Disaggregated(row) : others.StaticBatch(row);
    if (!prediction.has_value()) continue;
    ++errors.answered;
    add(prediction->latency_ms, row.latency_ms, errors.latency);
    add(prediction->tpot_ms, row.tpot_ms, errors.tpot);
    add(prediction->ttft_ms, row.ttft_ms, errors.ttft);
  }
  std::string text =
      "\n### Other runs\n\nMedian / mean in percent, of rows without a flag. "
      "Static batches: all requests together, and no others; what software of "
      "the day adds is the design's, from these rows, and nothing else is "
      "fitted. Aimed at: 10 % of the latency (median) of vLLM.\n\n"
      "| runs | rows | answered | n | latency | n | per token | n | first "
      "token |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (auto& [name, errors] : by_name) {
    absl::StrAppendFormat(&text, "| %s | %d | %d | %s | %s | %s |\n", name,
                          errors.rows, errors.answered, Figures(errors.latency),
                          Figures(errors.tpot), Figures(errors.ttft));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ServedReport(const std::vector<ServingRow>& rows,
                                         const model::ShippedData& data) {
  ServingTargets targets(data, {.fitted = false});
  const std::vector<ServedRun> runs = RunsOf(rows, targets);
  ASSIGN_OR_RETURN(const CrossValidation validation, CrossValidate(runs, {}));
  return absl::StrCat(Report(runs, validation).Text(rows, data),
                      OtherText(rows, data));
}

}  // namespace mansard::calibrate
