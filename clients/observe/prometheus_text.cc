#include "clients/observe/prometheus_text.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mansard::observe {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool StartsName(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' ||
         c == ':';
}
bool InName(char c) {
  return StartsName(c) || absl::ascii_isdigit(static_cast<unsigned char>(c));
}

void SkipBlanks(absl::string_view& text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
}

// Empty where none is there.
std::string TakeName(absl::string_view& text) {
  size_t size = 0;
  if (!text.empty() && StartsName(text.front())) {
    while (size < text.size() && InName(text[size])) ++size;
  }
  std::string name(text.substr(0, size));
  text.remove_prefix(size);
  return name;
}

// A quoted value with \\, \" and \n.
std::optional<std::string> TakeQuoted(absl::string_view& text) {
  if (!absl::ConsumePrefix(&text, "\"")) return std::nullopt;
  std::string value;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return value;
    if (c != '\\') {
      value.push_back(c);
      continue;
    }
    if (text.empty()) return std::nullopt;
    const char escaped = text.front();
    text.remove_prefix(1);
    if (escaped != 'n' && escaped != '\\' && escaped != '"') {
      value.push_back('\\');
    }
    value.push_back(escaped == 'n' ? '\n' : escaped);
  }
  return std::nullopt;
}

// After the brace. A comma may stand before the end.
bool TakeLabels(absl::string_view& text, Sample& sample) {
  for (;;) {
    SkipBlanks(text);
    if (absl::ConsumePrefix(&text, "}")) return true;
    std::string name = TakeName(text);
    SkipBlanks(text);
    if (name.empty() || !absl::ConsumePrefix(&text, "=")) return false;
    SkipBlanks(text);
    std::optional<std::string> value = TakeQuoted(text);
    if (!value.has_value()) return false;
    sample.labels[std::move(name)] = *std::move(value);
    SkipBlanks(text);
    if (absl::ConsumePrefix(&text, ",")) continue;
    return absl::ConsumePrefix(&text, "}");
  }
}

bool ParseValue(absl::string_view word, double& value) {
  if (word == "+Inf") {
    value = std::numeric_limits<double>::infinity();
    return true;
  }
  if (word == "-Inf") {
    value = -std::numeric_limits<double>::infinity();
    return true;
  }
  if (word == "NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  return absl::SimpleAtod(word, &value);
}

std::optional<Sample> ParseLine(absl::string_view line) {
  Sample sample;
  sample.name = TakeName(line);
  if (sample.name.empty()) return std::nullopt;
  SkipBlanks(line);
  if (absl::ConsumePrefix(&line, "{") && !TakeLabels(line, sample)) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  int64_t timestamp_ms = 0;
  if (words.empty() || words.size() > 2 ||
      !ParseValue(words[0], sample.value) ||
      (words.size() == 2 && !absl::SimpleAtoi(words[1], &timestamp_ms))) {
    return std::nullopt;
  }
  return sample;
}

}  // namespace

absl::StatusOr<std::vector<Sample>> ParseMetrics(absl::string_view page) {
  std::vector<Sample> samples;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    std::optional<Sample> sample = ParseLine(line);
    if (!sample.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, " is not a metric: ", line.substr(0, 80)));
    }
    samples.push_back(*std::move(sample));
  }
  return samples;
}

}  // namespace mansard::observe
