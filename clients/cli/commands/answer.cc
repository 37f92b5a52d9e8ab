#include "clients/cli/commands/answer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {

absl::StatusOr<Answer> AnswerAs(OutputFormat output,
                                const google::protobuf::Message& response,
                                const v1::Resolution* resolution,
                                absl::FunctionRef<Report()> report,
                                absl::FunctionRef<std::string()> text) {
  Answer answer;
  if (output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json = JsonText(response);
    if (!json.ok()) return json.status();
    answer.out = *std::move(json);
  } else if (output == OutputFormat::kCsv) {
    answer.out = CsvText(report());
    if (resolution != nullptr) {
      answer.notes = FooterText(*resolution, v1::TIER_UNSPECIFIED,
                                /*quiet=*/true, Style(false));
    }
  } else {
    answer.out = text();
  }
  return answer;
}

std::string WithFooter(const std::string& text,
                       const v1::Resolution& resolution,
                       const Arguments& arguments, const Style& style,
                       const std::vector<std::string>& assumptions) {
  std::string assumed;
  if (!arguments.quiet) {
    for (const std::string& assumption : assumptions) {
      absl::StrAppend(&assumed, "assumed: ", Wrapped(assumption, 9));
    }
  }
  const std::string footer =
      FooterText(resolution, v1::TIER_UNSPECIFIED, arguments.quiet, style);
  return absl::StrCat(text, footer.empty() ? "" : "\n", assumed, footer);
}

}  // namespace mansard::cli
