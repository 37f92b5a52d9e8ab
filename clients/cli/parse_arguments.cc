#include "clients/cli/parse_arguments.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command_status.h"
#include "clients/cli/command_tree.h"
#include "clients/cli/read_flags.h"

namespace mansard::cli {
namespace {

// Commands below `app`.
std::vector<std::string> CommandWords(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    words.push_back(sub->get_name());
  }
  return words;
}

// Flags that `app` takes, its parents' included.
std::vector<std::string> FlagWords(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* level = &app; level != nullptr;
       level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        words.push_back(absl::StrCat("--", name));
      }
    }
  }
  return words;
}

// The first word that no command knows; OK when there is none.
absl::Status UnknownWord(CommandTree& tree) {
  const std::vector<std::string> extras = tree.root().remaining(true);
  if (extras.empty()) return absl::OkStatus();
  const CLI::App& app = tree.Deepest();
  const std::vector<std::string> flag_and_value =
      absl::StrSplit(extras.front(), absl::MaxSplits('=', 1));
  const std::string& word = flag_and_value.front();
  if (absl::StartsWith(word, "-")) {
    return UsageError(absl::StrCat(FullName(app), ": unknown flag \"", word,
                                   "\"", DidYouMean(word, FlagWords(app))),
                      HelpHint(app));
  }
  const std::vector<std::string> commands = CommandWords(app);
  if (commands.empty()) {
    return UsageError(absl::StrCat(FullName(app), ": unexpected argument \"",
                                   extras.front(), "\""),
                      HelpHint(app));
  }
  return UsageError(absl::StrCat(FullName(app), ": unknown command \"", word,
                                 "\"; allowed: ", absl::StrJoin(commands, ", "),
                                 DidYouMean(word, commands)),
                    HelpHint(app));
}

absl::Status ReadKernel(CommandTree& tree, const KernelCommand& kernel,
                        Arguments* arguments) {
  if (arguments->estimate.hardware.empty()) {
    return UsageError("--hardware is missing", HelpHint(tree.Deepest()));
  }
  absl::Status status = ReadCounts(tree, kernel.counts, &arguments->kernel);
  if (status.ok() && kernel.command == Command::kKernelCollective) {
    return ReadRatio(tree, "--imbalance", tree.raw().imbalance,
                     &arguments->kernel.imbalance, "a number, 1 or more");
  }
  if (!status.ok() || kernel.command != Command::kKernelAttention) {
    return status;
  }
  if (tree.raw().phase.empty()) {
    return UsageError("--phase is missing", HelpHint(tree.Deepest()));
  }
  const absl::StatusOr<size_t> phase =
      Choice("--phase", tree.raw().phase, {"prefill", "decode"});
  if (!phase.ok()) return phase.status();
  arguments->estimate.phase = static_cast<Phase>(*phase);
  std::vector<CountFlag> counts;
  for (const CountFlag& flag : WorkFlags()) {
    if (!absl::StartsWith(flag.name, "--prefill")) counts.push_back(flag);
  }
  return ReadCounts(tree, counts, &arguments->estimate);
}

absl::Status ReadEstimate(CommandTree& tree, EstimateFlags* estimate) {
  const std::pair<const char*, const std::string*> required[] = {
      {"--model", &estimate->model},
      {"--hardware", &estimate->hardware},
      {"--phase", &tree.raw().phase}};
  for (const auto& [name, value] : required) {
    const bool of_engine = value != &tree.raw().phase;
    if (value->empty() && !(of_engine && !estimate->engine.empty())) {
      return UsageError(absl::StrCat(name, " is missing"),
                        HelpHint(tree.Deepest()));
    }
  }
  const absl::StatusOr<size_t> phase =
      Choice("--phase", tree.raw().phase, {"prefill", "decode", "mixed"});
  if (!phase.ok()) return phase.status();
  estimate->phase = static_cast<Phase>(*phase);
  absl::Status status = ReadRatio(tree, "--acceptance", tree.raw().acceptance,
                                  &estimate->acceptance);
  if (status.ok()) {
    status =
        ReadRatio(tree, "--overlap-efficiency", tree.raw().overlap_efficiency,
                  &estimate->overlap_efficiency);
  }
  for (const auto* flags : {&WorkFlags(), &DraftFlags(), &LayoutFlags(),
                            &SendFlags(), &OverlapFlags()}) {
    if (status.ok()) status = ReadCounts(tree, *flags, estimate);
  }
  return status;
}

absl::Status ReadKv(CommandTree& tree, Arguments* arguments) {
  const std::pair<const char*, const std::string*> required[] = {
      {"--model", &arguments->estimate.model},
      {"--hardware", &arguments->estimate.hardware},
      {"--tokens", &tree.raw().counts.at("--tokens")},
      {"--from", &arguments->kv.from}};
  for (const auto& [name, value] : required) {
    if (value->empty()) {
      return UsageError(absl::StrCat(name, " is missing"),
                        HelpHint(tree.Deepest()));
    }
  }
  const absl::Status status = ReadCounts(tree, KvCounts(), &arguments->kv);
  if (!status.ok()) return status;
  return ReadCounts(tree, LayoutFlags(), &arguments->estimate);
}

bool NeedsFile(Command command) {
  return command == Command::kModelApply ||
         command == Command::kHardwareApply || command == Command::kEngineApply;
}

absl::Status ReadGlobals(const RawFlags& raw, Arguments* arguments) {
  arguments->server = raw.server == "embedded" ? "" : raw.server;
  if (!arguments->server.empty() &&
      !absl::StrContains(arguments->server, ':')) {
    return UsageError(
        absl::StrCat("--server (or MANSARD_SERVER) is \"", raw.server,
                     "\"; allowed: HOST:PORT, unix:PATH, or \"embedded\""));
  }
  if (!absl::ParseDuration(raw.timeout, &arguments->timeout) ||
      arguments->timeout <= absl::ZeroDuration() ||
      arguments->timeout > absl::Hours(24)) {
    return UsageError(
        absl::StrCat("--timeout is \"", raw.timeout,
                     "\"; allowed: up to 24h, such as 500ms, 10s, 2m"));
  }
  return absl::OkStatus();
}

bool HasFormat(const CommandEntry& leaf, OutputFormat format) {
  switch (format) {
    case OutputFormat::kTable:
    case OutputFormat::kJson:
      return true;
    case OutputFormat::kCsv:
    case OutputFormat::kMarkdown:
      return leaf.command != Command::kVersion;
    case OutputFormat::kTextproto:
      return leaf.textproto;
    case OutputFormat::kSvg:
      return leaf.command == Command::kEstimate;
  }
  return false;
}

absl::Status ReadLeaf(const CommandEntry& leaf, const RawFlags& raw,
                      Arguments* arguments) {
  arguments->command = leaf.command;
  const std::pair<const char*, OutputFormat> known[] = {
      {"table", OutputFormat::kTable},
      {"json", OutputFormat::kJson},
      {"csv", OutputFormat::kCsv},
      {"md", OutputFormat::kMarkdown},
      {"textproto", OutputFormat::kTextproto},
      {"svg", OutputFormat::kSvg}};
  std::vector<std::string> names;
  std::vector<OutputFormat> formats;
  for (const auto& [name, format] : known) {
    if (!HasFormat(leaf, format)) continue;
    names.push_back(name);
    formats.push_back(format);
  }
  const absl::StatusOr<size_t> format = Choice("-o", raw.output, names);
  if (!format.ok()) return format.status();
  arguments->output = formats[*format];
  const std::pair<const char*, const std::string*> operands[] = {
      {"ID", &arguments->operand},
      {"FILE", &arguments->operand},
      {"OP", &arguments->operand},
      {"A", &arguments->operand},
      {"B", &arguments->second_operand}};
  for (const auto& [operand, value] : operands) {
    if (leaf.app->get_option_no_throw(operand) != nullptr && value->empty()) {
      return UsageError(
          absl::StrCat(FullName(*leaf.app), ": ", operand, " is missing"),
          HelpHint(*leaf.app));
    }
  }
  return absl::OkStatus();
}

// CLI11 says "--tp: 1 required N missing".
absl::Status ParseFailed(CommandTree& tree, const CLI::ParseError& error) {
  absl::Status unknown = UnknownWord(tree);
  if (!unknown.ok()) return unknown;
  std::string message = error.what();
  if (error.get_name() == "ArgumentMismatch") {
    const std::string flag = message.substr(0, message.find(':'));
    message = absl::StrCat(flag, absl::StrContains(message, "missing")
                                     ? " needs a value"
                                     : " is given more than once");
  }
  return UsageError(message, HelpHint(tree.Deepest()));
}

// With what CLI11 leaves out of a command's help: the flags of all commands.
std::string HelpText(CommandTree& tree) {
  std::string text =
      absl::StrReplaceAll(tree.root().help(), {{"\n\n\n", "\n\n"}});
  if (&tree.Deepest() != &tree.root()) {
    absl::StrAppend(&text,
                    "\nFlags of every command (--server, -o, -q, --timeout, "
                    "...): mansard --help\n");
  }
  return text;
}

absl::StatusOr<Arguments> Read(CommandTree& tree) {
  Arguments arguments = tree.arguments();
  if (tree.raw().version) {
    arguments.command = Command::kVersion;
    return arguments;
  }
  absl::Status status = ReadGlobals(tree.raw(), &arguments);
  if (!status.ok()) return status;
  const CLI::App& app = tree.Deepest();
  for (const CommandEntry& leaf : tree.leaves()) {
    if (leaf.app != &app) continue;
    status = ReadLeaf(leaf, tree.raw(), &arguments);
    if (status.ok() && (leaf.command == Command::kEstimate ||
                        leaf.command == Command::kRoofline)) {
      status = ReadEstimate(tree, &arguments.estimate);
    }
    if (status.ok() && leaf.command == Command::kKv) {
      status = ReadKv(tree, &arguments);
    }
    if (status.ok()) status = ReadServing(tree, leaf.command, &arguments);
    if (status.ok() && NeedsFile(leaf.command) &&
        arguments.catalog.file.empty()) {
      status = UsageError("-f is missing", HelpHint(app));
    }
    for (const KernelCommand& kernel : KernelCommands()) {
      if (status.ok() && leaf.command == kernel.command) {
        status = ReadKernel(tree, kernel, &arguments);
      }
    }
    if (!status.ok()) return status;
    return arguments;
  }
  return UsageError(
      absl::StrCat(FullName(app), ": a command is missing; allowed: ",
                   absl::StrJoin(CommandWords(app), ", ")),
      HelpHint(app));
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(int argc, const char* const* argv) {
  CommandTree tree;
  Arguments help;
  if (argc <= 1) {
    help.help = HelpText(tree);
    return help;
  }
  try {
    tree.root().parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    help.help = HelpText(tree);
    return help;
  } catch (const CLI::ParseError& error) {
    return ParseFailed(tree, error);
  }
  return Read(tree);
}

}  // namespace mansard::cli
