// What the readers of flags share. Includes CLI11: for parse_arguments.cc and
// its neighbours only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command_status.h"
#include "clients/cli/command_tree.h"

namespace mansard::cli {

// "mansard engine create".
std::string FullName(const CLI::App& app);
// " (did you mean ...?)", or empty.
std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& known);
std::string HelpHint(const CLI::App& app);

// Where `value` stands in `allowed`.
absl::StatusOr<size_t> Choice(absl::string_view flag, absl::string_view value,
                              const std::vector<std::string>& allowed);

absl::Status ReadRatio(CommandTree& tree, const char* flag,
                       const std::string& text, std::optional<double>* value,
                       const char* allowed = "a number, 0 to 1");

// UsageError where one of `flags` is no whole number of its range.
template <class Flags>
absl::Status ReadCounts(CommandTree& tree,
                        const std::vector<CountOf<Flags>>& flags,
                        Flags* values) {
  for (const CountOf<Flags>& flag : flags) {
    if (tree.Deepest().get_option(flag.name)->empty()) continue;
    const std::string& text = tree.raw().counts.at(flag.name);
    int64_t value = 0;
    if (!absl::SimpleAtoi(text, &value) || value > flag.maximum ||
        value < -flag.maximum - 1) {
      return UsageError(absl::StrCat(flag.name, " is \"", text,
                                     "\"; allowed: a whole number, at most ",
                                     flag.maximum));
    }
    if (value == 0 && flag.zero_is_default) {
      return UsageError(
          absl::StrCat(flag.name, " is \"", text, "\"; allowed: 1 or more"));
    }
    values->*flag.member = value;
  }
  return absl::OkStatus();
}

// Of `engine create` and the commands that ask what an engine serves; nothing
// for others.
absl::Status ReadServing(CommandTree& tree, Command command,
                         Arguments* arguments);

}  // namespace mansard::cli
