// `mansard estimate`.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/estimate_request.h"
#include "clients/cli/commands/target.h"
#include "clients/cli/commands/what_if_request.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/memory_text.h"
#include "clients/cli/output/proto_text.h"
#include "clients/cli/output/waterfall_svg.h"
#include "clients/cli/output/what_if_text.h"

namespace mansard::cli {
namespace {

// Rows that nobody will see are not asked for.
void FillReadMask(const Arguments& arguments, v1::EstimateRequest* request) {
  if (arguments.output != OutputFormat::kJson || arguments.estimate.ops) {
    request->mutable_read_mask()->add_paths("estimate.ops");
  }
  if (arguments.estimate.waterfall || arguments.output == OutputFormat::kSvg) {
    request->mutable_read_mask()->add_paths("estimate.waterfall");
  }
  if (arguments.estimate.sensitivity) {
    request->mutable_read_mask()->add_paths("sensitivities");
  }
  if (arguments.estimate.what_if) {
    request->mutable_read_mask()->add_paths("what_if");
  }
}

// "llama-3.1-8b on h100-sxm, decode".
std::string TitleOf(const v1::EstimateResponse& response) {
  const auto id = [](const std::string& revision) {
    const std::string last = revision.substr(revision.rfind('/') + 1);
    return last.substr(0, last.find('@'));
  };
  const v1::Resolution& used = response.resolution();
  return absl::StrCat(id(used.model_graph_revision()), " on ",
                      id(used.hardware_profile_revision()), ", ",
                      response.estimate().phase());
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
  if (arguments.estimate.sensitivity) {
    absl::StrAppend(&out, "\n", TableText(SensitivityReport(response), style));
  }
  if (arguments.estimate.what_if) {
    absl::StrAppend(&out, "\n",
                    TableText(WhatIfReport(response, Reader::kPeople), style),
                    ImpossibleText(response));
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
  if (flags.what_if) return WhatIfReport(response, Reader::kPrograms);
  if (flags.sensitivity) return SensitivityReport(response);
  return PartsReport(response);
}

// What an answer for programs does not hold.
std::string Notes(const v1::EstimateResponse& response,
                  const std::vector<std::string>& assumptions,
                  const Arguments& arguments) {
  const bool csv = arguments.output == OutputFormat::kCsv ||
                   arguments.output == OutputFormat::kSvg;
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
  } else if (arguments.output == OutputFormat::kSvg) {
    answer.out = WaterfallSvg(response, TitleOf(response));
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
  const absl::StatusOr<v1::WhatIfChoices> choices = WhatIfChoicesOf(flags);
  if (!choices.ok()) return choices.status();
  v1::EstimateRequest request;
  if (flags.what_if) *request.mutable_what_if() = *choices;
  std::vector<std::string> assumptions;
  const absl::Status filled =
      FillEstimateSubject(session, flags, &request, &assumptions);
  if (!filled.ok()) return filled;
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
