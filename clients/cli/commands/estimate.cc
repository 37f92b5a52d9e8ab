// `mansard estimate`.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/memory_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {
namespace {

// Rows that nobody will see are not asked for.
void FillReadMask(const Arguments& arguments, v1::EstimateRequest* request) {
  if (arguments.output != OutputFormat::kJson || arguments.estimate.ops) {
    request->mutable_read_mask()->add_paths("estimate.ops");
  }
  if (arguments.estimate.waterfall) {
    request->mutable_read_mask()->add_paths("estimate.waterfall");
  }
}

std::string Hint(const EstimateFlags& flags, bool fits) {
  if (!fits && !flags.memory) {
    return "next: --memory shows what each part takes\n";
  }
  if (!flags.waterfall) {
    return "next: --waterfall shows bytes and time at every memory and link\n";
  }
  if (!flags.ops) return "next: --ops shows every op\n";
  return "next: -o json gives all of it to a program\n";
}

std::string TableAnswer(const v1::EstimateResponse& response,
                        const v1::ForwardPass& pass,
                        const std::vector<std::string>& assumptions,
                        const Arguments& arguments, const Style& style) {
  std::string out = HeadlineText(response, pass, style);
  absl::StrAppend(&out, "\n", TableText(PartsReport(response), style));
  if (arguments.estimate.ops) {
    absl::StrAppend(&out, "\n",
                    TableText(OpsReport(response.estimate()), style),
                    OpsLegend(response.estimate().ops()), "\n",
                    AdviceText(response.estimate()));
  }
  if (arguments.estimate.waterfall) {
    absl::StrAppend(&out, "\n", TableText(WaterfallReport(response), style));
  }
  if (arguments.estimate.memory) {
    absl::StrAppend(&out, "\n",
                    TableText(MemoryReport(response.memory()), style));
  }
  const std::string footer =
      FooterText(response.resolution(), response.estimate().tier(),
                 arguments.quiet, style);
  if (!footer.empty()) absl::StrAppend(&out, "\n");
  if (!arguments.quiet) {
    for (const std::string& assumption : assumptions) {
      absl::StrAppend(&out, "assumed: ", Wrapped(assumption, 9));
    }
  }
  absl::StrAppend(&out, footer);
  if (!arguments.quiet)
    absl::StrAppend(&out, Hint(arguments.estimate, response.memory().fits()));
  return out;
}

// One table alone.
Report MainReport(const v1::EstimateResponse& response,
                  const EstimateFlags& flags) {
  if (flags.ops) return OpsReport(response.estimate());
  if (flags.waterfall) return WaterfallReport(response);
  if (flags.memory) return MemoryReport(response.memory());
  return PartsReport(response);
}

// What an answer for programs does not hold.
std::string Notes(const v1::EstimateResponse& response,
                  const std::vector<std::string>& assumptions,
                  const Arguments& arguments) {
  const bool csv = arguments.output == OutputFormat::kCsv;
  std::string notes;
  if (csv) {
    notes = FooterText(response.resolution(), response.estimate().tier(),
                       /*quiet=*/true, Style(false));
  }
  if (arguments.quiet) return notes;
  for (const std::string& assumption : assumptions) {
    absl::StrAppend(&notes, "note: ", arguments.estimate.model,
                    ": assumed: ", assumption, "\n");
  }
  // In CSV a warning has said it.
  if (!csv && arguments.fail_if_infeasible && !response.memory().fits()) {
    absl::StrAppend(&notes, "note: The model does not fit\n");
  }
  return notes;
}

absl::StatusOr<Answer> AnswerOf(const v1::EstimateResponse& response,
                                const v1::ForwardPass& pass,
                                const std::vector<std::string>& assumptions,
                                const Arguments& arguments,
                                const Style& style) {
  Answer answer;
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json = JsonText(response);
    if (!json.ok()) return json.status();
    answer.out = *std::move(json);
    answer.notes = Notes(response, assumptions, arguments);
  } else if (arguments.output == OutputFormat::kCsv) {
    answer.out = CsvText(MainReport(response, arguments.estimate));
    answer.notes = Notes(response, assumptions, arguments);
  } else {
    answer.out = TableAnswer(response, pass, assumptions, arguments, style);
  }
  if (arguments.fail_if_infeasible && !response.memory().fits()) {
    answer.code = ExitCode::kInfeasible;
  }
  return answer;
}

}  // namespace

absl::StatusOr<Answer> RunEstimate(const Session& session,
                                   const Arguments& arguments,
                                   const Style& style) {
  const EstimateFlags& flags = arguments.estimate;
  const absl::StatusOr<v1::ForwardPass> pass = ForwardPassOf(flags);
  if (!pass.ok()) return pass.status();
  v1::EstimateRequest request;
  std::vector<std::string> assumptions;
  const absl::Status filled =
      FillSubject(session, flags, request.mutable_target(), &assumptions);
  if (!filled.ok()) return filled;
  FillTarget(flags, request.mutable_target());
  *request.mutable_forward_pass() = *pass;
  request.set_require_fit(flags.require_fit);
  FillReadMask(arguments, &request);
  v1::EstimateResponse response;
  const absl::Status called = session.Call(
      session.client().estimation(), &v1::EstimationService::Stub::Estimate,
      request, &response,
      [&flags](const std::string& field) { return FlagOfField(flags, field); });
  if (!called.ok()) return WithHint(called, CatalogHint(called));
  return AnswerOf(response, *pass, assumptions, arguments, style);
}

}  // namespace mansard::cli
