#include "clients/cli/command_status.h"

#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace mansard::cli {
namespace {

// Keys of status payloads.
constexpr char kUsagePayload[] = "mansard.cli/usage";
constexpr char kHintPayload[] = "mansard.cli/hint";

// "--tp is 3; allowed: ..." where the description starts with the value that
// was typed, else "--tp 3: ...".
std::string ViolationLine(
    const google::rpc::BadRequest::FieldViolation& violation,
    const FieldNamer& flag_of_field) {
  const std::string& description = violation.description();
  const std::string flag =
      flag_of_field ? flag_of_field(violation.field()) : std::string();
  if (flag.empty()) return absl::StrCat(violation.field(), ": ", description);
  const std::vector<std::string> parts =
      absl::StrSplit(flag, absl::MaxSplits(' ', 1));
  if (parts.size() == 2) {
    for (const std::string& start : {absl::StrCat("is ", parts[1], ";"),
                                     absl::StrCat("is ", parts[1], ","),
                                     absl::StrCat("is \"", parts[1], "\";"),
                                     absl::StrCat("\"", parts[1], "\" ")}) {
      if (absl::StartsWith(description, start)) {
        return absl::StrCat(parts[0], " ", description);
      }
    }
  }
  return absl::StrCat(flag, ": ", description);
}

// The broken rules that came with the status, one line each; empty if none did.
std::string ViolationLines(const grpc::Status& status,
                           const FieldNamer& flag_of_field) {
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) return "";
  std::vector<std::string> lines;
  for (const google::protobuf::Any& detail : rich.details()) {
    google::rpc::BadRequest bad_request;
    if (!detail.UnpackTo(&bad_request)) continue;
    for (const auto& violation : bad_request.field_violations()) {
      lines.push_back(ViolationLine(violation, flag_of_field));
    }
  }
  return absl::StrJoin(lines, "\n");
}

absl::Status Unreachable(const grpc::Status& status, absl::string_view server) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (server.empty()) {
    return absl::Status(code, status.error_code() == grpc::DEADLINE_EXCEEDED
                                  ? "The embedded engine took too long"
                                  : status.error_message());
  }
  if (status.error_code() == grpc::DEADLINE_EXCEEDED) {
    return WithHint(
        absl::Status(code, absl::StrCat("No answer from ", server, " in time")),
        absl::StrCat("is mansardd running at ", server,
                     "? --timeout allows more time; leave out --server and "
                     "MANSARD_SERVER to use "
                     "the embedded engine"));
  }
  return WithHint(absl::Status(code, absl::StrCat("Cannot reach ", server, ": ",
                                                  status.error_message())),
                  absl::StrCat("is mansardd running at ", server,
                               "? leave out --server and MANSARD_SERVER to use "
                               "the embedded engine"));
}

}  // namespace

absl::Status UsageError(absl::string_view message, absl::string_view hint) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return WithHint(status, hint);
}

absl::Status Failed(absl::string_view message, absl::string_view hint) {
  return WithHint(absl::UnknownError(message), hint);
}

absl::Status WithHint(absl::Status status, absl::string_view hint) {
  if (!hint.empty() && !status.ok() &&
      !status.GetPayload(kHintPayload).has_value()) {
    status.SetPayload(kHintPayload, absl::Cord(hint));
  }
  return status;
}

absl::Status FromServer(const grpc::Status& status, absl::string_view server,
                        const FieldNamer& flag_of_field) {
  if (status.ok()) return absl::OkStatus();
  if (status.error_code() == grpc::UNAVAILABLE ||
      status.error_code() == grpc::DEADLINE_EXCEEDED) {
    return Unreachable(status, server);
  }
  std::string message = ViolationLines(status, flag_of_field);
  if (message.empty()) message = status.error_message();
  if (message.empty()) message = "The server gave no reason";
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      message);
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kDone;
  if (status.GetPayload(kUsagePayload).has_value()) return ExitCode::kUsage;
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    return ExitCode::kUnreachable;
  }
  return ExitCode::kFailed;
}

std::string ErrorText(const absl::Status& status) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    absl::StrAppend(&text, "error: ", line, "\n");
  }
  const auto hint = status.GetPayload(kHintPayload);
  if (hint.has_value()) {
    absl::StrAppend(&text, "hint: ", std::string(*hint), "\n");
  }
  return text;
}

}  // namespace mansard::cli
