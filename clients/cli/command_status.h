// How a command ends: exit codes, and errors as people read them.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/status.h"

namespace mansard::cli {

enum class ExitCode {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kUnreachable = 3,
  kInfeasible = 4,  // Only with --fail-if-infeasible.
};

// What a command wrote: `out` for stdout, `notes` for stderr.
struct Answer {
  std::string out = "";
  std::string notes = "";
  ExitCode code = ExitCode::kDone;
};

// A mistake in the command line: one line that names flag, value and what is
// allowed. `hint` says what to do next; may be empty.
absl::Status UsageError(absl::string_view message, absl::string_view hint = "");
// Anything that went wrong on this side later: a file that cannot be read.
absl::Status Failed(absl::string_view message, absl::string_view hint = "");

// The flag that set a request's field, as typed: "--tp 3". Empty where there
// is none.
using FieldNamer = std::function<std::string(const std::string& field)>;

// A call's error. The rules that a request broke are one line each, with
// fields by their flags. `server` is the address, or empty for the embedded
// engine.
absl::Status FromServer(const grpc::Status& status, absl::string_view server,
                        const FieldNamer& flag_of_field = nullptr);

// The same error with `hint` where it has none yet.
absl::Status WithHint(absl::Status status, absl::string_view hint);

ExitCode ExitCodeOf(const absl::Status& status);
// "error: ..." for each line, then the hint; ends with a newline.
std::string ErrorText(const absl::Status& status);

}  // namespace mansard::cli
