// Capacity and latency models.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/serving_lines.h"
#include "clients/cli/output/serving_text.h"

namespace mansard::cli {

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
      &out, LabelLine("requests", ShapeText(request.shape())),
      LabelLine("in flight", Grouped(int64_t{response.batch_request_count()})));
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
  absl::StrAppend(&out, LabelLine("limit", limit), ServedLines(response));
  if (response.has_inter_token_latency_seconds()) {
    absl::StrAppend(
        &out,
        LabelLine("a pass", Seconds(response.inter_token_latency_seconds())));
  }
  absl::StrAppend(
      &out,
      LabelLine("works", absl::StrFormat("%.0f %% of the time",
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
       TimeColumn("ttft", "time_to_first_token_seconds"),
       TimeColumn("tpot", "time_per_output_token_seconds"),
       TimeColumn("e2e", "end_to_end_latency_seconds"),
       TimeColumn("itl", "inter_token_latency_seconds"),
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
