#include "clients/cli/read_flags.h"

#include <cmath>

#include "absl/strings/str_join.h"
#include "clients/cli/suggest.h"

namespace mansard::cli {

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr
             ? app.get_name()
             : absl::StrCat(FullName(*app.get_parent()), " ", app.get_name());
}

std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& known) {
  const std::string closest = ClosestWord(word, known);
  return closest.empty() ? closest
                         : absl::StrCat(" (did you mean \"", closest, "\"?)");
}

std::string HelpHint(const CLI::App& app) {
  return absl::StrCat(FullName(app), " --help has examples");
}

absl::StatusOr<size_t> Choice(absl::string_view flag, absl::string_view value,
                              const std::vector<std::string>& allowed) {
  for (size_t i = 0; i < allowed.size(); ++i) {
    if (allowed[i] == value) return i;
  }
  return UsageError(absl::StrCat(flag, " is \"", value,
                                 "\"; allowed: ", absl::StrJoin(allowed, ", "),
                                 DidYouMean(value, allowed)));
}

absl::Status ReadRatio(CommandTree& tree, const char* flag,
                       const std::string& text, std::optional<double>* value,
                       const char* allowed) {
  if (tree.Deepest().get_option(flag)->empty()) return absl::OkStatus();
  double ratio = 0;
  if (!absl::SimpleAtod(text, &ratio) || !std::isfinite(ratio)) {
    return UsageError(
        absl::StrCat(flag, " is \"", text, "\"; allowed: ", allowed));
  }
  *value = ratio;
  return absl::OkStatus();
}

}  // namespace mansard::cli
