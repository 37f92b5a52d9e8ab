// A call's answer in the format that was asked for.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "clients/cli/arguments.h"
#include "clients/cli/command_status.h"
#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "google/protobuf/message.h"
#include "mansard/v1/estimate.pb.h"

namespace mansard::cli {

// JSON of the response; CSV of the report, whose warnings are notes; or the
// text. `resolution`: null where the answer has none. Only what is printed is
// made. Error: JSON's.
absl::StatusOr<Answer> AnswerAs(OutputFormat output,
                                const google::protobuf::Message& response,
                                const v1::Resolution* resolution,
                                absl::FunctionRef<Report()> report,
                                absl::FunctionRef<std::string()> text);

// A text, and below it what was assumed here and what the resolution says, as
// far as quiet commands do.
std::string WithFooter(const std::string& text,
                       const v1::Resolution& resolution,
                       const Arguments& arguments, const Style& style,
                       const std::vector<std::string>& assumptions = {});

}  // namespace mansard::cli
