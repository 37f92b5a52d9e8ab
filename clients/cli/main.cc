// mansard: the command line. Exit codes: command_status.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/arguments.h"
#include "clients/cli/command_status.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/local.h"
#include "clients/cli/output/report.h"
#include "clients/cli/output/style.h"
#include "clients/cli/parse_arguments.h"
#include "clients/cli/session.h"

namespace mansard::cli {
namespace {

absl::StatusOr<Answer> Run(const Session& session, const Arguments& arguments,
                           const Style& style) {
  switch (arguments.command) {
    case Command::kHelp:
    case Command::kVersion:
    case Command::kValidate:
      break;  // Need no session; see RunCommand.
    case Command::kStatus:
      return RunStatus(session, arguments, style);
    case Command::kEstimate:
      return RunEstimate(session, arguments, style);
    case Command::kKernelGemm:
    case Command::kKernelAttention:
    case Command::kKernelMoe:
    case Command::kKernelCollective:
    case Command::kKernelElementwise:
      return RunKernel(session, arguments, style);
    case Command::kRoofline:
      return RunRoofline(session, arguments, style);
    case Command::kKv:
      return RunKv(session, arguments, style);
    case Command::kBatch:
      return RunBatch(session, arguments, style);
    case Command::kEnginePredict:
      return RunEnginePredict(session, arguments, style);
    case Command::kEngineCapacity:
      return RunEngineCapacity(session, arguments, style);
    case Command::kEngineLatencyModel:
      return RunEngineLatencyModel(session, arguments, style);
    case Command::kEngineLoad:
      return RunEngineLoad(session, arguments, style);
    case Command::kEngineObserve:
      return RunEngineObserve(session, arguments, style);
    case Command::kEngineImport:
      return RunEngineImport(session, arguments, style);
    case Command::kModelImport:
      return RunModelImport(session, arguments, style);
    case Command::kModelList:
      return RunModelList(session, arguments, style);
    case Command::kModelGet:
      return RunModelGet(session, arguments, style);
    case Command::kModelDiff:
      return RunModelDiff(session, arguments, style);
    case Command::kHardwareList:
      return RunHardwareList(session, arguments, style);
    case Command::kHardwareGet:
      return RunHardwareGet(session, arguments, style);
    case Command::kEngineList:
      return RunEngineList(session, arguments, style);
    case Command::kEngineGet:
      return RunEngineGet(session, arguments, style);
    case Command::kEngineCreate:
      return RunEngineCreate(session, arguments, style);
    case Command::kCalibrationList:
      return RunCalibrationList(session, arguments, style);
    case Command::kCalibrationGet:
      return RunCalibrationGet(session, arguments, style);
    case Command::kCalibrationApply:
      return RunCalibrationApply(session, arguments);
    case Command::kModelApply:
    case Command::kHardwareApply:
    case Command::kEngineApply:
      return RunApply(session, arguments);
    case Command::kModelDelete:
    case Command::kHardwareDelete:
    case Command::kEngineDelete:
    case Command::kCalibrationDelete:
      return RunDelete(session, arguments);
    case Command::kHardwareDiff:
    case Command::kEngineDiff:
    case Command::kCalibrationDiff:
      return RunDiff(session, arguments);
  }
  return Answer();
}

bool ChangesCatalog(const Arguments& arguments) {
  if (arguments.catalog.dry_run) return false;
  if (arguments.command == Command::kEngineImport) {
    return !arguments.import.apply.empty();
  }
  constexpr Command kChanging[] = {
      Command::kModelApply,        Command::kModelDelete,
      Command::kHardwareApply,     Command::kHardwareDelete,
      Command::kEngineCreate,      Command::kEngineApply,
      Command::kEngineDelete,      Command::kCalibrationApply,
      Command::kCalibrationDelete, Command::kEngineObserve};
  return std::find(std::begin(kChanging), std::end(kChanging),
                   arguments.command) != std::end(kChanging);
}

// Where the embedded engine's catalog is kept. Empty: nowhere.
std::string StateDirectory() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string own = variable("MANSARD_STATE_DIR");
  if (!own.empty()) return own;
  const std::string xdg = variable("XDG_STATE_HOME");
  if (!xdg.empty()) return xdg + "/mansard";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.local/state/mansard";
}

absl::Status NoStart(const absl::Status& status) {
  return Failed(
      absl::StrCat("The embedded engine does not start: ", status.message()));
}

// The command, or what it is about a target that is no engine of a catalog:
// that is asked of an engine of this process, whose catalog ends with it.
absl::StatusOr<Answer> RunAsked(const Session& session,
                                const Arguments& arguments,
                                const Style& style) {
  if (arguments.command != Command::kBatch ||
      !arguments.estimate.engine.empty()) {
    return Run(session, arguments, style);
  }
  const absl::StatusOr<std::unique_ptr<LocalEngine>> scratch =
      LocalEngine::Start("", /*may_change=*/true);
  if (!scratch.ok()) return NoStart(scratch.status());
  return RunBatchOfTarget(session,
                          Session((*scratch)->Channel(), "", arguments.timeout),
                          arguments, style);
}

absl::StatusOr<Answer> RunWithSession(const Arguments& arguments,
                                      const Style& style) {
  if (!arguments.server.empty()) {
    return RunAsked(Session(client::Connect(arguments.server), arguments.server,
                            arguments.timeout),
                    arguments, style);
  }
  const absl::StatusOr<std::unique_ptr<LocalEngine>> engine =
      LocalEngine::Start(StateDirectory(), ChangesCatalog(arguments));
  if (!engine.ok()) return NoStart(engine.status());
  return RunAsked(Session((*engine)->Channel(), "", arguments.timeout),
                  arguments, style);
}

// False where standard output does not take the text, such as a full disk.
bool Print(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
         std::fflush(stdout) == 0;
}

absl::StatusOr<Answer> RunCommand(int argc, const char* const* argv) {
  const absl::StatusOr<Arguments> arguments = ParseArguments(argc, argv);
  if (!arguments.ok()) return arguments.status();
  if (arguments->command == Command::kHelp) {
    return Answer{.out = arguments->help};
  }
  if (arguments->command == Command::kVersion) return RunVersion(*arguments);
  const Style style = arguments->output == OutputFormat::kMarkdown
                          ? Style::Markdown()
                          : Style(WantsColor(arguments->no_color));
  absl::StatusOr<Answer> answer = arguments->command == Command::kValidate
                                      ? RunValidate(*arguments, style)
                                      : RunWithSession(*arguments, style);
  if (answer.ok() && arguments->output == OutputFormat::kMarkdown) {
    answer->out = MarkdownPage(answer->out);
  }
  return answer;
}

ExitCode Main(int argc, const char* const* argv) {
  const absl::StatusOr<Answer> answer = RunCommand(argc, argv);
  if (!answer.ok()) {
    std::fputs(ErrorText(answer.status()).c_str(), stderr);
    return ExitCodeOf(answer.status());
  }
  if (!Print(answer->out)) {
    std::fputs("error: Cannot write to standard output\n", stderr);
    return ExitCode::kFailed;
  }
  std::fputs(answer->notes.c_str(), stderr);
  return answer->code;
}

}  // namespace
}  // namespace mansard::cli

int main(int argc, char** argv) {
  // gRPC's own log would stand between the lines of an error.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return static_cast<int>(mansard::cli::Main(argc, argv));
}
