#include "clients/cli/output/serving_text.h"

#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/output/serving_lines.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

std::string BoundText(v1::Bound bound, const Style& style) {
  const std::string word = BoundWord(bound);
  if (word.empty()) return "";
  const std::string name =
      bound == v1::BOUND_COMMUNICATION ? "communication" : word;
  return style.Paint(ToneOfResource(word),
                     absl::StrCat(absl::AsciiStrToUpper(name), "-bound"));
}

std::optional<double> TargetOf(const v1::Slo& slo, const std::string& target) {
  if (target == "time_to_first_token_seconds") {
    return slo.time_to_first_token_seconds();
  }
  if (target == "time_per_output_token_seconds") {
    return slo.time_per_output_token_seconds();
  }
  if (target == "inter_token_latency_seconds") {
    return slo.inter_token_latency_seconds();
  }
  if (target == "end_to_end_latency_seconds") {
    return slo.end_to_end_latency_seconds();
  }
  return std::nullopt;
}

// "129 sequences would take 20.1 ms, 0.1 ms more than the 20 ms of ...".
std::string LimitText(const v1::RecommendBatchSizeRequest& request,
                      const v1::RecommendBatchSizeResponse& response) {
  const std::string& target = response.broken_target();
  const std::optional<double> most = TargetOf(request.slo(), target);
  const int64_t next = int64_t{response.max_batch_request_count()} + 1;
  if (response.limit() != v1::BATCH_LIMIT_SLO || !most.has_value() ||
      !response.has_next_batch_seconds()) {
    return response.reason();
  }
  const double takes = response.next_batch_seconds();
  return absl::StrCat(TargetText(target), ": ", Grouped(next),
                      next == 1 ? " sequence" : " sequences", " would take ",
                      Seconds(takes), ", ", Seconds(takes - *most),
                      " more than ", Seconds(*most));
}

std::string StepLines(absl::string_view label, const v1::TimePrediction& time) {
  return absl::StrCat(
      LabelLine(label, Seconds(time.seconds())),
      LabelLine("p10-p90", absl::StrCat(Seconds(time.p10_seconds()), " - ",
                                        Seconds(time.p90_seconds()))));
}

}  // namespace

std::string BatchText(const v1::RecommendBatchSizeRequest& request,
                      const v1::RecommendBatchSizeResponse& response,
                      const Style& style) {
  const int64_t batch = response.max_batch_request_count();
  std::string out = style.Paint(batch == 0 ? Tone::kBad : Tone::kStrong,
                                absl::StrCat("batch  ", Grouped(batch)));
  absl::StrAppend(
      &out, "   ", Grouped(response.output_tokens_per_second(), 0), " tok/s   ",
      BoundText(response.bound(), style), "\n",
      LabelLine("limit", LimitText(request, response)),
      StepLines(batch == 0 ? "one's step" : "step", response.step_time()));
  if (response.has_slo_headroom_seconds()) {
    const double headroom = response.slo_headroom_seconds();
    absl::StrAppend(
        &out, LabelLine("headroom", headroom < 0
                                        ? absl::StrCat("-", Seconds(-headroom))
                                        : Seconds(headroom)));
  }
  if (response.tokens_per_pass_count() > 1) {
    absl::StrAppend(
        &out, LabelLine("gains",
                        absl::StrFormat("%.2f tokens a pass for each sequence",
                                        response.tokens_per_pass_count())));
  }
  // Without a shape a token's time is the step's over what it gains.
  return request.has_shape() || response.tokens_per_pass_count() > 1
             ? out + ServedLines(response)
             : out;
}

Report BatchReport(const v1::RecommendBatchSizeResponse& response) {
  Report report{
      {{"batch", Unit::kNone, Align::kRight, "max_batch_request_count"},
       {"limit", Unit::kNone, Align::kLeft},
       {"broken target", Unit::kNone, Align::kLeft, "broken_target"},
       TimeColumn("next batch", "next_batch_seconds"),
       TimeColumn("step", "step_seconds"),
       TimeColumn("p10", "p10_seconds"),
       TimeColumn("p90", "p90_seconds"),
       TimeColumn("headroom", "slo_headroom_seconds"),
       {"tok/s", Unit::kNone, Align::kRight, "output_tokens_per_second"},
       {"bound", Unit::kNone, Align::kLeft},
       TimeColumn("ttft", "time_to_first_token_seconds"),
       TimeColumn("tpot", "time_per_output_token_seconds"),
       TimeColumn("e2e", "end_to_end_latency_seconds"),
       {"reason", Unit::kNone, Align::kLeft}},
      {}};
  const v1::TimePrediction& step = response.step_time();
  report.rows.push_back(
      {Number(response.max_batch_request_count()),
       Text(LimitWord(response.limit())), Text(response.broken_target()),
       SecondsCell(response.has_next_batch_seconds(),
                   response.next_batch_seconds()),
       Number(step.seconds()), Number(step.p10_seconds()),
       Number(step.p90_seconds()),
       SecondsCell(response.has_slo_headroom_seconds(),
                   response.slo_headroom_seconds()),
       Number(response.output_tokens_per_second()),
       Text(BoundWord(response.bound())),
       SecondsCell(response.has_time_to_first_token_seconds(),
                   response.time_to_first_token_seconds()),
       SecondsCell(response.has_time_per_output_token_seconds(),
                   response.time_per_output_token_seconds()),
       SecondsCell(response.has_end_to_end_latency_seconds(),
                   response.end_to_end_latency_seconds()),
       Text(response.reason())});
  return report;
}

Report LatenciesReport(const v1::PredictLatenciesRequest& request,
                       const v1::PredictLatenciesResponse& response) {
  const auto programs = [](Column column) {
    column.reader = Reader::kPrograms;
    return column;
  };
  Report report{
      {{"row", Unit::kNone, Align::kRight},
       {"engine", Unit::kNone, Align::kLeft},
       TimeColumn("ttft", "time_to_first_token_seconds"),
       programs(TimeColumn("ttft p10", "time_to_first_token_p10_seconds")),
       programs(TimeColumn("ttft p90", "time_to_first_token_p90_seconds")),
       TimeColumn("itl", "inter_token_latency_seconds"),
       TimeColumn("tpot", "time_per_output_token_seconds"),
       programs(TimeColumn("tpot p10", "time_per_output_token_p10_seconds")),
       programs(TimeColumn("tpot p90", "time_per_output_token_p90_seconds")),
       TimeColumn("e2e", "end_to_end_latency_seconds"),
       TimeColumn("headroom", "slo_headroom_seconds"),
       {"meets", Unit::kNone, Align::kLeft, "meets_slo"},
       {"waits", Unit::kNone, Align::kLeft, "waits_for_room"},
       {"bound", Unit::kNone, Align::kLeft},
       programs({"extrapolated", Unit::kNone, Align::kLeft}),
       {"error", Unit::kNone, Align::kLeft}},
      {}};
  const auto yes = [](bool is) { return Text(is ? "yes" : "no"); };
  for (int i = 0; i < response.rows_size(); ++i) {
    const auto& row = response.rows(i);
    const std::string& name = request.queries(i).engine();
    std::vector<Cell> cells = {Number(i + 1),
                               Text(name.substr(name.rfind('/') + 1))};
    if (row.has_error()) {
      cells.resize(report.columns.size());
      cells.back() =
          Text(absl::StrReplaceAll(row.error().message(), {{"\n", "; "}}),
               Tone::kBad);
      report.rows.push_back(std::move(cells));
      continue;
    }
    const v1::LatencyPrediction& one = row.prediction();
    const auto add = [&cells](bool there, const v1::TimePrediction& time,
                              bool interval) {
      cells.push_back(SecondsCell(there, time.seconds()));
      if (!interval) return;
      cells.push_back(SecondsCell(there, time.p10_seconds()));
      cells.push_back(SecondsCell(there, time.p90_seconds()));
    };
    add(one.has_time_to_first_token(), one.time_to_first_token(), true);
    add(one.has_inter_token_latency(), one.inter_token_latency(), false);
    add(one.has_time_per_output_token(), one.time_per_output_token(), true);
    add(one.has_end_to_end_latency(), one.end_to_end_latency(), false);
    cells.push_back(SecondsCell(one.has_slo_headroom_seconds(),
                                one.slo_headroom_seconds()));
    cells.push_back(one.has_slo_headroom_seconds() ? yes(one.meets_slo())
                                                   : Cell());
    cells.push_back(yes(one.waits_for_room()));
    const std::string bound = BoundWord(one.bound());
    cells.push_back(Text(bound, ToneOfResource(bound)));
    cells.push_back(yes(one.extrapolated()));
    cells.push_back(Cell());
    report.rows.push_back(std::move(cells));
  }
  return report;
}

}  // namespace mansard::cli
