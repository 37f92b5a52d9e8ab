#include "clients/import/launch_command.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/import/program.h"
#include "clients/import/shell_words.h"
#include "clients/import/yaml_leaves.h"

namespace mansard::importing {
namespace {

using Words = std::vector<std::string>;

bool IsFlag(const std::string& word) {
  double number = 0;
  return word.size() > 1 && word[0] == '-' && !absl::SimpleAtod(word, &number);
}

// "max-num-seqs" for "max_num_seqs".
std::string Dashed(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"_", "-"}});
}

bool IsEnvironment(const std::string& word) {
  const size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(),
                     word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) {
                       return absl::ascii_isupper(c) ||
                              absl::ascii_isdigit(c) || c == '_';
                     });
}

// What a flag's word is about.
struct Named {
  const FlagSpec* spec = nullptr;
  std::string name;      // Of the spec, with the member behind it.
  bool negated = false;  // --no-a
};

class Parser {
 public:
  Parser(Runtime runtime, const FileReader& read) : read_(read) {
    command_.runtime = runtime;
  }

  absl::StatusOr<LaunchCommand> Run(const Words& words) {
    size_t at = 0;
    while (at < words.size() && IsEnvironment(words[at])) {
      command_.environment.push_back(words[at++]);
    }
    const absl::Status own = CheckProgram(words);
    if (!own.ok()) return own;
    at = std::max(at, BehindProgram(command_.runtime, words).value_or(0));
    while (at < words.size()) {
      if (IsFlag(words[at])) {
        at = TakeFlag(words, at);
      } else {
        TakeModel(words[at++]);
      }
    }
    const absl::Status files = TakeFiles();
    if (!files.ok()) return files;
    TakeModelFlag();
    if (errors_.empty()) return command_;
    return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  }

 private:
  absl::Status CheckProgram(const Words& words) const {
    if (BehindProgram(command_.runtime, words).has_value()) {
      return absl::OkStatus();
    }
    for (const Runtime other :
         {Runtime::kVllm, Runtime::kSglang, Runtime::kTrtllm}) {
      if (BehindProgram(other, words).has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("is a command of ", RuntimeName(other),
                         "; allowed: one of ", RuntimeName(command_.runtime)));
      }
    }
    return absl::OkStatus();
  }

  Named Lookup(absl::string_view dashed) const {
    const Runtime runtime = command_.runtime;
    if (const FlagSpec* spec = FindFlag(runtime, dashed)) {
      return {spec, std::string(MainName(*spec))};
    }
    absl::string_view positive = dashed;
    if (absl::ConsumePrefix(&positive, "no-")) {
      const FlagSpec* const spec = FindFlag(runtime, positive);
      if (spec != nullptr && spec->arity == Arity::kSwitch) {
        return {spec, std::string(MainName(*spec)), true};
      }
    }
    // A member of an object that has no row of its own.
    const size_t dot = dashed.find('.');
    if (dot != absl::string_view::npos) {
      const FlagSpec* const spec = FindFlag(runtime, dashed.substr(0, dot));
      if (spec != nullptr) {
        const std::string member =
            absl::StrCat(MainName(*spec), dashed.substr(dot));
        const FlagSpec* const own = FindFlag(runtime, member);
        return {own == nullptr ? spec : own,
                own == nullptr ? member : std::string(MainName(*own))};
      }
    }
    return {nullptr, std::string(dashed)};
  }

  // "-O3" is -O with the value 3; long names lose their dashes.
  Named LookupWord(absl::string_view word) const {
    if (absl::StartsWith(word, "--")) return Lookup(Dashed(word.substr(2)));
    Named named = Lookup(Dashed(word));
    if (named.spec == nullptr) named.name = Dashed(word.substr(1));
    return named;
  }

  // The index behind the flag at words[at] and its value.
  size_t TakeFlag(const Words& words, size_t at) {
    std::string shown = words[at];
    std::optional<std::string> value;
    const size_t equals = shown.find('=');
    if (equals != std::string::npos) {
      value = shown.substr(equals + 1);
      shown.resize(equals);
    }
    Named named = LookupWord(shown);
    if (named.spec == nullptr && !absl::StartsWith(shown, "--") &&
        shown.size() > 2 && !value.has_value()) {
      const Named attached = LookupWord(shown.substr(0, 2));
      if (attached.spec != nullptr) {
        named = attached;
        value = shown.substr(2);
        shown.resize(2);
      }
    }
    ++at;
    if (named.spec == nullptr || named.spec->arity == Arity::kSwitch) {
      at = TakeLooseValue(words, at, named, value);
    } else if (!value.has_value()) {
      Words values;
      const bool many = named.spec->arity == Arity::kValues;
      while (at < words.size() && !IsFlag(words[at]) &&
             (many || values.empty())) {
        values.push_back(words[at++]);
      }
      if (values.empty()) {
        errors_.push_back(absl::StrCat(shown, " needs a value"));
        return at;
      }
      value = absl::StrJoin(values, many ? "," : " ");
    }
    Add(named, shown, *value);
    return at;
  }

  // Of a switch, or of a flag that nobody knows.
  static size_t TakeLooseValue(const Words& words, size_t at,
                               const Named& named,
                               std::optional<std::string>& value) {
    const bool known = named.spec != nullptr;
    if (!value.has_value() && at < words.size() && !IsFlag(words[at])) {
      const std::string word = absl::AsciiStrToLower(words[at]);
      if (!known || word == "true" || word == "false") value = words[at++];
    }
    if (!known) {
      value = value.value_or("");
    } else if (named.negated) {
      value = "false";
    } else {
      value = absl::AsciiStrToLower(value.value_or("true"));
    }
    return at;
  }

  void TakeModel(const std::string& word) {
    if (!command_.model.empty() && command_.model != word) {
      errors_.push_back(
          absl::StrCat("\"", word, "\" stands beside the model \"",
                       command_.model, "\"; allowed: one model, and flags"));
      return;
    }
    command_.model = word;
  }

  // --model MODEL.
  void TakeModelFlag() {
    const GivenFlag* const given = command_.Find("model");
    if (given != nullptr) TakeModel(given->value);
  }

  // Objects as their members.
  void Add(const Named& named, const std::string& shown,
           const std::string& value) {
    if (named.spec != nullptr && named.spec->arity == Arity::kObject &&
        absl::StartsWith(absl::StripLeadingAsciiWhitespace(value), "{")) {
      const absl::StatusOr<YamlLeaves> members = ReadYamlLeaves(value);
      if (!members.ok()) {
        errors_.push_back(absl::StrCat(shown, " is \"", value,
                                       "\"; allowed: an object in JSON (",
                                       members.status().message(), ")"));
        return;
      }
      for (const auto& [path, text] : *members) {
        AddOne(Lookup(absl::StrCat(named.name, ".", Dashed(path))),
               absl::StrCat(shown, ".", path), text);
      }
      return;
    }
    AddOne(named, shown, value);
  }

  void AddOne(const Named& named, const std::string& shown,
              const std::string& value) {
    for (GivenFlag& flag : command_.flags) {
      if (flag.name != named.name) continue;
      if (flag.value == value) return;
      switch (on_conflict_) {
        case OnConflict::kRefuse:
          errors_.push_back(absl::StrCat(flag.shown, " is \"", flag.value,
                                         "\" and ", shown, " \"", value,
                                         "\"; allowed: one of them"));
          return;
        case OnConflict::kKeep:
          return;
        case OnConflict::kReplace:
          flag.shown = shown;
          flag.value = value;
          return;
      }
    }
    command_.flags.push_back({named.name, shown, value, named.spec});
  }

  absl::Status TakeFiles() {
    on_conflict_ = command_.runtime == Runtime::kTrtllm ? OnConflict::kReplace
                                                        : OnConflict::kKeep;
    const GivenFlag* const file = command_.Find("config");
    if (file == nullptr) return absl::OkStatus();
    const std::string path = file->value;
    const absl::StatusOr<std::string> text = read_(path);
    if (!text.ok()) return text.status();
    const absl::StatusOr<YamlLeaves> leaves = ReadYamlLeaves(*text);
    if (!leaves.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", leaves.status().message()));
    }
    for (const auto& [key, value] : *leaves)
      AddOne(Lookup(Dashed(key)), key, value);
    return absl::OkStatus();
  }

  // Where a flag has another value already.
  enum class OnConflict { kRefuse, kKeep, kReplace };

  const FileReader& read_;
  LaunchCommand command_;
  OnConflict on_conflict_ = OnConflict::kRefuse;
  std::vector<std::string> errors_;
};

}  // namespace

const GivenFlag* LaunchCommand::Find(absl::string_view name) const {
  for (const GivenFlag& flag : flags) {
    if (absl::string_view(flag.name) == name) return &flag;
  }
  return nullptr;
}

absl::StatusOr<LaunchCommand> ParseLaunch(Runtime runtime,
                                          absl::string_view text,
                                          const FileReader& read) {
  const absl::StatusOr<Words> words = SplitShellWords(text);
  if (!words.ok()) return words.status();
  if (words->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is empty; allowed: a command of ", RuntimeName(runtime)));
  }
  return Parser(runtime, read).Run(*words);
}

}  // namespace mansard::importing
