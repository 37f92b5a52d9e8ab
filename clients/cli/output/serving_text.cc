#include "clients/cli/output/serving_text.h"

#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

constexpr int kLabelWidth = 12;

std::string Seconds(double seconds) {
  return WithUnit(seconds, Unit::kSeconds);
}

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrCat(absl::StrFormat("  %-*s", kLabelWidth, label),
                      Wrapped(text, 2 + kLabelWidth));
}

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

std::string LimitWord(v1::BatchLimit limit) {
  switch (limit) {
    case v1::BATCH_LIMIT_SLO:
      return "target";
    case v1::BATCH_LIMIT_KV_BUDGET:
      return "cache";
    case v1::BATCH_LIMIT_ENGINE:
      return "engine";
    default:  // None, or one that a newer server knows.
      return "";
  }
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
      Line(label, Seconds(time.seconds())),
      Line("p10-p90", absl::StrCat(Seconds(time.p10_seconds()), " - ",
                                   Seconds(time.p90_seconds()))));
}

// The times of served load that are there.
template <class Response>
std::string ServedLines(const Response& response) {
  std::string out;
  if (response.has_time_to_first_token_seconds()) {
    absl::StrAppend(
        &out,
        Line("first token", Seconds(response.time_to_first_token_seconds())));
  }
  if (response.has_time_per_output_token_seconds()) {
    absl::StrAppend(
        &out,
        Line("each token", Seconds(response.time_per_output_token_seconds())));
  }
  if (response.has_end_to_end_latency_seconds()) {
    absl::StrAppend(&out, Line("end to end",
                               Seconds(response.end_to_end_latency_seconds())));
  }
  return out;
}

Cell SecondsCell(bool there, double seconds) {
  return there ? Number(seconds) : Cell();
}

Column Time(const char* name, const char* csv) {
  return {name, Unit::kSeconds, Align::kRight, csv};
}

std::string ShapeText(const v1::RequestShape& shape) {
  std::string text =
      absl::StrCat(Grouped(int64_t{shape.input_token_count()}), " tokens in, ",
                   Grouped(int64_t{shape.output_token_count()}), " out");
  if (shape.prefix_cache_hit_ratio() > 0) {
    absl::StrAppend(
        &text, ", ",
        absl::StrFormat("%.4g %%", 100 * shape.prefix_cache_hit_ratio()),
        " of the prompts cached");
  }
  return text;
}

}  // namespace

std::string TargetText(const std::string& target) {
  if (target == "time_to_first_token_seconds") return "time to first token";
  if (target == "time_per_output_token_seconds") return "time per output token";
  if (target == "inter_token_latency_seconds") return "inter-token latency";
  if (target == "end_to_end_latency_seconds") return "end-to-end latency";
  return target;
}

std::string BatchText(const v1::RecommendBatchSizeRequest& request,
                      const v1::RecommendBatchSizeResponse& response,
                      const Style& style) {
  const int64_t batch = response.max_batch_request_count();
  std::string out = style.Paint(batch == 0 ? Tone::kBad : Tone::kStrong,
                                absl::StrCat("batch  ", Grouped(batch)));
  absl::StrAppend(
      &out, "   ", Grouped(response.output_tokens_per_second(), 0), " tok/s   ",
      BoundText(response.bound(), style), "\n",
      Line("limit", LimitText(request, response)),
      StepLines(batch == 0 ? "one's step" : "step", response.step_time()));
  if (response.has_slo_headroom_seconds()) {
    const double headroom = response.slo_headroom_seconds();
    absl::StrAppend(
        &out,
        Line("headroom", headroom < 0 ? absl::StrCat("-", Seconds(-headroom))
                                      : Seconds(headroom)));
  }
  if (response.tokens_per_pass_count() > 1) {
    absl::StrAppend(
        &out,
        Line("gains", absl::StrFormat("%.2f tokens a pass for each sequence",
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
       Time("next batch", "next_batch_seconds"),
       Time("step", "step_seconds"),
       Time("p10", "p10_seconds"),
       Time("p90", "p90_seconds"),
       Time("headroom", "slo_headroom_seconds"),
       {"tok/s", Unit::kNone, Align::kRight, "output_tokens_per_second"},
       {"bound", Unit::kNone, Align::kLeft},
       Time("ttft", "time_to_first_token_seconds"),
       Time("tpot", "time_per_output_token_seconds"),
       Time("e2e", "end_to_end_latency_seconds"),
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
       Time("ttft", "time_to_first_token_seconds"),
       programs(Time("ttft p10", "time_to_first_token_p10_seconds")),
       programs(Time("ttft p90", "time_to_first_token_p90_seconds")),
       Time("itl", "inter_token_latency_seconds"),
       Time("tpot", "time_per_output_token_seconds"),
       programs(Time("tpot p10", "time_per_output_token_p10_seconds")),
       programs(Time("tpot p90", "time_per_output_token_p90_seconds")),
       Time("e2e", "end_to_end_latency_seconds"),
       Time("headroom", "slo_headroom_seconds"),
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

std::string CapacityText(const v1::FindEngineCapacityRequest& request,
                         const v1::FindEngineCapacityResponse& response,
                         const Style& style) {
  std::string out = style.Paint(
      Tone::kStrong, absl::StrFormat("capacity  %.4g requests/s",
                                     response.requests_per_second()));
  const bool asked = request.has_slo() && request.slo().ByteSizeLong() > 0;
  absl::StrAppend(&out, "   ", Grouped(response.output_tokens_per_second(), 0),
                  " tok/s",
                  !asked ? ""
                  : response.meets_slo()
                      ? style.Paint(Tone::kGood, "   all targets hold")
                      : style.Paint(Tone::kBad,
                                    "   no batch holds the targets: the best "
                                    "without them"),
                  "\n");
  absl::StrAppend(
      &out, Line("requests", ShapeText(request.shape())),
      Line("in flight", Grouped(int64_t{response.batch_request_count()})));
  std::string limit;
  if (response.limit() == v1::BATCH_LIMIT_SLO) {
    limit = absl::StrCat("one more would break ",
                         TargetText(response.broken_target()));
  } else if (response.limit() == v1::BATCH_LIMIT_KV_BUDGET) {
    limit = "one more has no room in the cache";
  } else if (response.limit() == v1::BATCH_LIMIT_ENGINE) {
    limit = "the engine's own limits";
  } else {
    limit = "none: one more is possible, and no better";
  }
  absl::StrAppend(&out, Line("limit", limit), ServedLines(response));
  if (response.has_inter_token_latency_seconds()) {
    absl::StrAppend(
        &out, Line("a pass", Seconds(response.inter_token_latency_seconds())));
  }
  absl::StrAppend(
      &out, Line("works", absl::StrFormat("%.0f %% of the time",
                                          100 * response.utilization_ratio())));
  return out;
}

Report CapacityReport(const v1::FindEngineCapacityResponse& response) {
  Report report{
      {{"requests/s", Unit::kNone, Align::kRight, "requests_per_second"},
       {"tok/s", Unit::kNone, Align::kRight, "output_tokens_per_second"},
       {"batch", Unit::kNone, Align::kRight, "batch_request_count"},
       {"limit", Unit::kNone, Align::kLeft},
       {"broken target", Unit::kNone, Align::kLeft, "broken_target"},
       Time("ttft", "time_to_first_token_seconds"),
       Time("tpot", "time_per_output_token_seconds"),
       Time("e2e", "end_to_end_latency_seconds"),
       Time("itl", "inter_token_latency_seconds"),
       {"meets", Unit::kNone, Align::kLeft, "meets_slo"},
       {"utilization", Unit::kNone, Align::kRight, "utilization_ratio"}},
      {}};
  report.rows.push_back(
      {Number(response.requests_per_second()),
       Number(response.output_tokens_per_second()),
       Number(response.batch_request_count()),
       Text(LimitWord(response.limit())), Text(response.broken_target()),
       SecondsCell(response.has_time_to_first_token_seconds(),
                   response.time_to_first_token_seconds()),
       SecondsCell(response.has_time_per_output_token_seconds(),
                   response.time_per_output_token_seconds()),
       SecondsCell(response.has_end_to_end_latency_seconds(),
                   response.end_to_end_latency_seconds()),
       SecondsCell(response.has_inter_token_latency_seconds(),
                   response.inter_token_latency_seconds()),
       Text(response.meets_slo() ? "yes" : "no"),
       Number(response.utilization_ratio())});
  return report;
}

Report LatencyModelReport(const v1::FitLatencyModelResponse& response) {
  Report report{
      {{"parameter", Unit::kNone, Align::kLeft},
       {"value", Unit::kSeconds, Align::kRight, "seconds"},
       {"per", Unit::kNone, Align::kLeft},
       {"worst error", Unit::kPercent, Align::kRight, "max_error_ratio"},
       {"of", Unit::kNone, Align::kLeft}},
      {}};
  const auto add = [&report](const char* name, bool there, double value,
                             const char* per, double error, const char* of) {
    if (!there) return;
    report.rows.push_back({Text(name), Quantity(value, Unit::kSeconds),
                           Text(per), Number(error), Text(of)});
  };
  const double decode = response.max_decode_error_ratio();
  const double prefill = response.max_prefill_error_ratio();
  add("alpha", response.has_alpha_seconds(), response.alpha_seconds(), "pass",
      decode, "a decode pass: alpha + beta x batch");
  add("beta", response.has_beta_seconds(), response.beta_seconds(), "sequence",
      decode, "a decode pass");
  add("gamma", response.has_gamma_seconds(), response.gamma_seconds(), "batch",
      prefill, "a batch of prompts: gamma + delta x tokens x batch");
  add("delta", response.has_delta_seconds(), response.delta_seconds(), "token",
      prefill, "a batch of prompts");
  return report;
}

std::string LatencyModelText(const v1::FitLatencyModelRequest& request,
                             const v1::FitLatencyModelResponse& response,
                             const Style& style) {
  return absl::StrCat(
      style.Paint(
          Tone::kStrong,
          absl::StrCat("latency model  batches of 1 to ",
                       Grouped(int64_t{response.max_batch_request_count()}))),
      "   ", ShapeText(request.shape()), "\n\n",
      TableText(LatencyModelReport(response), style));
}

}  // namespace mansard::cli
