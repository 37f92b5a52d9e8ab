#include "clients/cli/commands/serving_answer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/output/estimate_text.h"
#include "clients/cli/output/proto_text.h"

namespace mansard::cli {

absl::StatusOr<Answer> AnswerOf(const google::protobuf::Message& response,
                                const Report& report, const std::string& text,
                                const v1::Resolution* resolution,
                                const Arguments& arguments,
                                const Style& style) {
  const auto footer = [&](bool quiet, const Style& footer_style) {
    return resolution == nullptr ? std::string()
                                 : FooterText(*resolution, v1::TIER_UNSPECIFIED,
                                              quiet, footer_style);
  };
  Answer answer;
  if (arguments.output == OutputFormat::kJson) {
    absl::StatusOr<std::string> json = JsonText(response);
    if (!json.ok()) return json.status();
    answer.out = *std::move(json);
  } else if (arguments.output == OutputFormat::kCsv) {
    answer.out = CsvText(report);
    answer.notes = footer(/*quiet=*/true, Style(false));
  } else {
    const std::string below = footer(arguments.quiet, style);
    answer.out = absl::StrCat(text, below.empty() ? "" : "\n", below);
  }
  return answer;
}

}  // namespace mansard::cli
