// `mansard roofline`.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/commands/answer.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/roofline_text.h"

namespace mansard::cli {
namespace {

std::string FlagOf(const Arguments& arguments, const std::string& field) {
  if (field == "level") return absl::StrCat("--level ", arguments.level);
  const std::string prefix = "request.";
  return FlagOfField(arguments.estimate, field.rfind(prefix, 0) == 0
                                             ? field.substr(prefix.size())
                                             : field);
}

std::string TableAnswer(const v1::ExplainRooflineResponse& response,
                        const std::vector<std::string>& assumptions,
                        const Arguments& arguments, const Style& style) {
  std::string out = style.Paint(
      Tone::kStrong, absl::StrCat("step  ", WithUnit(response.time_seconds(),
                                                     Unit::kSeconds)));
  absl::StrAppend(&out, "   intensities count bytes at ",
                  arguments.level.empty() ? "hbm" : arguments.level, "\n\n",
                  TableText(CeilingsReport(response), style), "\n",
                  TableText(PointsReport(response), style));
  if (!response.crossovers().empty()) {
    absl::StrAppend(
        &out, "\n", TableText(CrossoversReport(response), style),
        "  tokens: rows of the GEMM; context: tokens a request; batch: "
        "requests\n");
  }
  absl::StrAppend(&out, "\n");
  if (!arguments.quiet) {
    for (const std::string& assumption : assumptions) {
      absl::StrAppend(&out, "assumed: ", Wrapped(assumption, 9));
    }
  }
  absl::StrAppend(&out, FooterText(response.resolution(), v1::TIER_UNSPECIFIED,
                                   arguments.quiet, style));
  if (!arguments.quiet) {
    absl::StrAppend(&out,
                    "next: mansard estimate ... --ops says what would change "
                    "each\n");
  }
  return out;
}

}  // namespace

absl::StatusOr<Answer> RunRoofline(const Session& session,
                                   const Arguments& arguments,
                                   const Style& style) {
  const absl::StatusOr<v1::ForwardPass> pass =
      ForwardPassOf(arguments.estimate);
  if (!pass.ok()) return pass.status();
  v1::ExplainRooflineRequest request;
  v1::EstimateRequest& inner = *request.mutable_request();
  std::vector<std::string> assumptions;
  const absl::Status filled =
      FillEstimateSubject(session, arguments.estimate, &inner, &assumptions);
  if (!filled.ok()) return filled;
  *inner.mutable_forward_pass() = *pass;
  inner.set_require_fit(arguments.estimate.require_fit);
  request.set_level(arguments.level);
  v1::ExplainRooflineResponse response;
  const absl::Status called =
      session.Call(session.client().estimation(),
                   &v1::EstimationService::Stub::ExplainRoofline, request,
                   &response, [&arguments](const std::string& field) {
                     return FlagOf(arguments, field);
                   });
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  return AnswerAs(
      arguments.output, response, &response.resolution(),
      [&] { return PointsReport(response); },
      [&] { return TableAnswer(response, assumptions, arguments, style); });
}

}  // namespace mansard::cli
