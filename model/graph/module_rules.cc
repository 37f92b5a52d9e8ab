#include "model/graph/module_rules.h"

#include <re2/re2.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace mansard::model {
namespace {

constexpr int64_t kExpressionMemory = 1 << 20;

std::unique_ptr<RE2> Compile(const std::string& text) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kExpressionMemory);
  options.set_never_capture(true);
  auto expression = std::make_unique<RE2>(text, options);
  return expression->ok() ? std::move(expression) : nullptr;
}

// Between dots or the ends; what is below fits, too.
std::string ExpressionOf(absl::string_view name) {
  const std::string quoted =
      RE2::QuoteMeta(re2::StringPiece(name.data(), name.size()));
  return absl::StrCat(
      "(?:.*\\.)?", absl::StrReplaceAll(quoted, {{"\\*", ".*"}}), "(?:\\..*)?");
}

}  // namespace

ModuleRules::ModuleRules() = default;
ModuleRules::ModuleRules(ModuleRules&&) noexcept = default;
ModuleRules& ModuleRules::operator=(ModuleRules&&) noexcept = default;
ModuleRules::~ModuleRules() = default;

bool ModuleRules::Add(absl::string_view name, const ModuleFormats& formats) {
  absl::string_view text = name;
  const bool regular = absl::ConsumePrefix(&text, "re:");
  // "mlp.gate." is written for "mlp.gate".
  if (!regular && absl::EndsWith(text, ".")) text.remove_suffix(1);
  if (!regular && !absl::StrContains(text, '*')) {
    literals_.emplace(std::string(text), Literal{formats, false});
    return true;
  }
  auto expression =
      Compile(regular ? absl::StrCat("(?:", text, ").*") : ExpressionOf(text));
  if (expression == nullptr) return false;
  patterns_.push_back({std::string(name),
                       absl::StrReplaceAll(name, {{"\\", ""}}),
                       std::move(expression), formats, false});
  return true;
}

std::optional<ModuleFormats> ModuleRules::Find(const std::string& module) {
  // Every run of parts between dots.
  std::vector<size_t> ends = {};
  for (size_t i = 0; i < module.size(); ++i) {
    if (module[i] == '.') ends.push_back(i);
  }
  ends.push_back(module.size());
  const absl::string_view whole = module;
  size_t begin = 0;
  for (size_t first = 0; first < ends.size(); ++first) {
    for (size_t last = ends.size(); last > first; --last) {
      const auto found = literals_.find(
          std::string(whole.substr(begin, ends[last - 1] - begin)));
      if (found == literals_.end()) continue;
      found->second.used = true;
      return found->second.formats;
    }
    begin = ends[first] + 1;
  }
  std::optional<ModuleFormats> formats;
  for (Pattern& pattern : patterns_) {
    if (formats.has_value() && pattern.used) continue;
    if (!RE2::FullMatch(module, *pattern.expression)) continue;
    pattern.used = true;
    if (!formats.has_value()) formats = pattern.formats;
  }
  return formats;
}

std::vector<std::string> ModuleRules::Unused() const {
  std::vector<std::string> unused;
  for (const auto& [name, literal] : literals_) {
    if (!literal.used) unused.push_back(name);
  }
  for (const Pattern& pattern : patterns_) {
    if (!pattern.used) unused.push_back(pattern.name);
  }
  return unused;
}

bool ModuleRules::SeesNoNumbers() const {
  for (const auto& [name, literal] : literals_) {
    for (char c : name) {
      if (absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
    }
  }
  for (const Pattern& pattern : patterns_) {
    const std::string rest =
        absl::StrReplaceAll(pattern.name, {{".*", ""}, {"\\.", ""}});
    const bool regular = absl::StartsWith(rest, "re:");
    for (char c : rest) {
      const bool word =
          absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_';
      // Of an expression, what repeats or stands for characters may count
      // digits.
      const bool plain =
          regular ? absl::StrContains("()|$^:", c)
                  : !absl::ascii_isdigit(static_cast<unsigned char>(c));
      if (!word && !plain) return false;
    }
  }
  return true;
}

bool ModuleRules::Mention(absl::string_view text) const {
  for (const auto& [name, literal] : literals_) {
    if (absl::StrContains(name, text)) return true;
  }
  for (const Pattern& pattern : patterns_) {
    if (absl::StrContains(pattern.plain, text)) return true;
  }
  return false;
}

}  // namespace mansard::model
