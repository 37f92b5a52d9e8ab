// What `mansard engine` prints of a call's answer.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/output/report.h"
#include "google/protobuf/message.h"
#include "mansard/v1/estimate.pb.h"

namespace mansard::cli {

// JSON, CSV, or the text with its footer. `resolution`: null where the answer
// has none; then there is no footer. Error: JSON's.
absl::StatusOr<Answer> AnswerOf(const google::protobuf::Message& response,
                                const Report& report, const std::string& text,
                                const v1::Resolution* resolution,
                                const Arguments& arguments, const Style& style);

}  // namespace mansard::cli
