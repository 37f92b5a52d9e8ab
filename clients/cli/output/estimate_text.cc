#include "clients/cli/output/estimate_text.h"

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/output/memory_text.h"
#include "clients/cli/output/words.h"

namespace mansard::cli {
namespace {

// Of the words before the lines below the headline.
constexpr int kLabelWidth = 10;

std::string BoundText(const v1::PhaseEstimate& estimate, const Style& style) {
  const std::string word = BoundWord(estimate.bound());
  if (word.empty()) return "";
  double share = 0;
  for (const auto& bound_share : estimate.bound_shares()) {
    if (bound_share.bound() == estimate.bound()) {
      share = bound_share.time_ratio();
    }
  }
  const std::string name =
      estimate.bound() == v1::BOUND_COMMUNICATION ? "communication" : word;
  return style.Paint(ToneOfResource(word),
                     absl::StrFormat("%s-bound %.0f %%",
                                     absl::AsciiStrToUpper(name), 100 * share));
}

std::string Line(absl::string_view label, absl::string_view text) {
  return absl::StrFormat("  %-*s%s\n", kLabelWidth, label, text);
}

// What of the step drafts, and what drafting gains; nothing where it does not.
std::string DraftingLines(const v1::PhaseEstimate& estimate) {
  std::string lines;
  if (estimate.draft_seconds() > 0) {
    absl::StrAppend(
        &lines,
        Line("of which",
             absl::StrFormat(
                 "%s drafting, %.0f %% of the step; the rest is the model's "
                 "own pass and the host",
                 WithUnit(estimate.draft_seconds(), Unit::kSeconds),
                 100 * estimate.draft_seconds() / estimate.time_seconds())));
  }
  if (estimate.has_expected_token_count_per_decode()) {
    absl::StrAppend(
        &lines,
        Line("gains", absl::StrFormat(
                          "%.2f tokens per step for each decoding sequence, at "
                          "the acceptance rate given",
                          estimate.expected_token_count_per_decode())));
  }
  return lines;
}

// How the pass goes through a pipeline; nothing without one.
std::string PipelineLines(const v1::PhaseEstimate& estimate) {
  if (!estimate.has_pipeline()) return "";
  const auto& pipeline = estimate.pipeline();
  const int slowest = pipeline.slowest_stage_index();
  if (slowest >= pipeline.stage_seconds_size()) return "";
  return absl::StrCat(
      Line(
          "pipeline",
          absl::StrFormat(
              "%d stages, the slowest is number %d: %s; %d micro-batches, idle "
              "%.0f %%",
              pipeline.stage_seconds_size(), slowest + 1,
              WithUnit(pipeline.stage_seconds(slowest), Unit::kSeconds),
              pipeline.micro_batch_count(), 100 * pipeline.bubble_ratio())),
      Line("steady",
           absl::StrFormat(
               "%s a step, %s tok/s while it never drains",
               WithUnit(pipeline.steady_step_seconds(), Unit::kSeconds),
               Grouped(pipeline.steady_output_tokens_per_second(), 0))));
}

// "calibrated 96 %, spec 4 % of the kernels' time", or "calibrated".
std::string TierSharesText(const v1::PhaseEstimate& estimate) {
  if (estimate.tier_shares_size() == 1) return TierWord(estimate.tier());
  std::vector<std::string> shares;
  for (const auto& share : estimate.tier_shares()) {
    shares.push_back(share.time_ratio() < 0.01
                         ? absl::StrCat(TierWord(share.tier()), " <1 %")
                         : absl::StrFormat("%s %.0f %%", TierWord(share.tier()),
                                           100 * share.time_ratio()));
  }
  return absl::StrCat(absl::StrJoin(shares, ", "), " of the kernels' time");
}

}  // namespace

std::string HeadlineText(const v1::EstimateResponse& response,
                         const v1::ForwardPass& pass, const Style& style) {
  const v1::PhaseEstimate& estimate = response.estimate();
  const double seconds = estimate.time_seconds();
  std::string headline = style.Paint(
      Tone::kStrong, absl::StrCat(estimate.phase(), " step  ",
                                  WithUnit(seconds, Unit::kSeconds)));
  absl::StrAppend(&headline, "   ",
                  Grouped(estimate.output_tokens_per_second(),
                          estimate.output_tokens_per_second() < 100 ? 1 : 0),
                  " tok/s   ", BoundText(estimate, style), "   ",
                  FitText(response.memory(), style), "\n");
  const double efficiency =
      seconds > 0 ? estimate.floor_seconds() / seconds : 0;
  absl::StrAppend(
      &headline,
      Line("p10-p90",
           absl::StrCat(WithUnit(estimate.p10_seconds(), Unit::kSeconds), " - ",
                        WithUnit(estimate.p90_seconds(), Unit::kSeconds))),
      Line("tier", TierSharesText(estimate)),
      Line("floor",
           absl::StrFormat(
               "%s, %.0f %% of the step: the least that the datasheet allows",
               WithUnit(estimate.floor_seconds(), Unit::kSeconds),
               100 * efficiency)),
      Line("rates", absl::StrFormat(
                        "%.1f %% of peak tensor rate, %.1f %% of peak HBM "
                        "bandwidth over the step",
                        100 * estimate.model_flops_utilization_ratio(),
                        100 * estimate.memory_bandwidth_utilization_ratio())),
      DraftingLines(estimate), PipelineLines(estimate),
      MemoryText(response.memory(), pass));
  return headline;
}

std::string FooterText(const v1::Resolution& used, v1::Tier tier, bool quiet,
                       const Style& style) {
  std::string footer;
  for (const std::string& warning : used.warnings()) {
    absl::StrAppend(&footer, style.Paint(Tone::kBad, "warning"), ": ",
                    Wrapped(warning, 9));
  }
  if (quiet) return footer;
  for (const std::string& assumption : used.assumptions()) {
    absl::StrAppend(&footer, "assumed: ", Wrapped(assumption, 9));
  }
  const auto last_segment = [](const std::string& name) {
    return name.substr(name.rfind('/') + 1);
  };
  absl::StrAppend(
      &footer, "used: ",
      Wrapped(absl::StrCat(last_segment(used.hardware_profile_revision()),
                           used.model_graph_revision().empty() ? "" : " · ",
                           last_segment(used.model_graph_revision()),
                           " · stack ", used.kernel_stack(), " · fabric ",
                           used.fabric().empty() ? "-" : used.fabric(),
                           TierWord(tier).empty() ? "" : " · tier ",
                           TierWord(tier)),
              6));
  return footer;
}

}  // namespace mansard::cli
