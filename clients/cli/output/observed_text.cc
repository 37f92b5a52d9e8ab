#include "clients/cli/output/observed_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/serving_lines.h"

namespace mansard::cli {
namespace {

void AddTime(const char* name, const char* field, bool has,
             const v1::TimePrediction& time, Report& report) {
  if (!has) return;
  const auto cell = [](double seconds) {
    return ShownAs(Number(seconds), Seconds(seconds));
  };
  report.rows.push_back({ShownAs(Text(field), name), cell(time.seconds()),
                         cell(time.p10_seconds()), cell(time.p90_seconds())});
}

void AddRate(const char* name, const char* field, double rate,
             const v1::EstimateServedLoadResponse::RateInterval& interval,
             Report& report) {
  const auto cell = [](double value) {
    return ShownAs(Number(value), absl::StrFormat("%.4g", value));
  };
  report.rows.push_back({ShownAs(Text(field), name), cell(rate),
                         cell(interval.p10()), cell(interval.p90())});
}

void AddRates(const v1::EstimateServedLoadResponse& response, Report& report) {
  AddRate("requests/s", "requests_per_second", response.requests_per_second(),
          response.requests_interval(), report);
  AddRate("output tokens/s", "output_tokens_per_second",
          response.output_tokens_per_second(),
          response.output_tokens_interval(), report);
  AddRate("most requests/s", "most_requests_per_second",
          response.most_requests_per_second(),
          response.most_requests_interval(), report);
  AddRate("used of the most", "utilization_ratio", response.utilization_ratio(),
          response.utilization_interval(), report);
}

}  // namespace

Report ServedLoadReport(const v1::EstimateServedLoadResponse& response) {
  // Of each row the field's name says the unit.
  Report report{{{"what", Unit::kNone, Align::kLeft, "field"},
                 {"value", Unit::kNone, Align::kRight, "value"},
                 {"p10", Unit::kNone, Align::kRight, "p10"},
                 {"p90", Unit::kNone, Align::kRight, "p90"}},
                {}};
  AddTime("to the first token", "time_to_first_token_seconds",
          response.has_time_to_first_token(), response.time_to_first_token(),
          report);
  AddTime("per output token", "time_per_output_token_seconds",
          response.has_time_per_output_token(),
          response.time_per_output_token(), report);
  AddTime("of a pass", "inter_token_latency_seconds",
          response.has_inter_token_latency(), response.inter_token_latency(),
          report);
  AddTime("end to end", "end_to_end_latency_seconds",
          response.has_end_to_end_latency(), response.end_to_end_latency(),
          report);
  AddRates(response, report);
  return report;
}

std::string ServedLoadText(const v1::EstimateServedLoadResponse& response,
                           const Style& style) {
  std::string out = style.Paint(
      Tone::kStrong,
      absl::StrFormat("load  %.4g requests/s", response.requests_per_second()));
  if (response.saturated()) {
    absl::StrAppend(
        &out,
        style.Paint(Tone::kBad, "   saturated: more arrive than it serves"),
        "\n");
  } else {
    absl::StrAppendFormat(
        &out,
        "   %.4g tok/s   %.4g in flight, %.4g of them run   %.0f %% of most\n",
        response.output_tokens_per_second(), response.concurrency_count(),
        response.batch_request_count(), 100 * response.utilization_ratio());
  }
  absl::StrAppend(&out, "\n", TableText(ServedLoadReport(response), style));
  const v1::Resolution& resolution = response.resolution();
  if (resolution.has_observed_factors()) {
    absl::StrAppend(&out, "\n", FactorsText(resolution.observed_factors()));
  }
  return out;
}

Report ObservedReport(const v1::ReportObservationsResponse& response) {
  Report report{
      {{"observation", Unit::kNone, Align::kRight, "observation"},
       {"passes", Unit::kNone, Align::kRight, "step_ratio"},
       {"first token", Unit::kNone, Align::kRight, "first_token_ratio"}},
      {}};
  for (int i = 0; i < response.ratios_size(); ++i) {
    const auto& ratios = response.ratios(i);
    const auto cell = [](bool has, double ratio) {
      return has ? ShownAs(Number(ratio), absl::StrFormat("%.3f", ratio))
                 : Cell{};
    };
    report.rows.push_back(
        {Number(i + 1), cell(ratios.has_step_ratio(), ratios.step_ratio()),
         cell(ratios.has_first_token_ratio(), ratios.first_token_ratio())});
  }
  return report;
}

std::string FactorsText(const v1::ObservedFactors& factors) {
  if (factors.step_observation_count() == 0 &&
      factors.first_token_observation_count() == 0) {
    return "No observations.\n";
  }
  return absl::StrFormat(
      "own factors  passes %.3f of %d observations, first token %.3f of %d: "
      "%s\n",
      factors.step_ratio(), factors.step_observation_count(),
      factors.first_token_ratio(), factors.first_token_observation_count(),
      factors.applied() ? "applied" : "not applied");
}

std::string ObservedText(const v1::ReportObservationsResponse& response,
                         const Style& style) {
  if (response.ratios().empty())
    return FactorsText(response.observed_factors());
  return absl::StrCat("Measured / predicted:\n",
                      TableText(ObservedReport(response), style), "\n",
                      FactorsText(response.observed_factors()));
}

}  // namespace mansard::cli
