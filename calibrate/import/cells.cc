#include "calibrate/import/cells.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace mansard::calibrate {
namespace {

// Spaces (also those that do not break) and apostrophes between digits.
std::string WithoutGaps(absl::string_view cell) {
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(cell),
                             {{" ", ""},
                              {"'", ""},
                              {"\xc2\xa0", ""},
                              {"\xe2\x80\xaf", ""},
                              {"\xe2\x80\x99", ""}});
}

// What the marks of a number tell: empty where both styles could have written
// it, or where it is no number.
std::optional<NumberStyle> StyleOf(const std::string& cell) {
  if (cell.find_first_not_of("+-0123456789.,") != std::string::npos) {
    return std::nullopt;
  }
  const size_t comma = cell.rfind(',');
  const size_t point = cell.rfind('.');
  if (comma == std::string::npos && point == std::string::npos) {
    return std::nullopt;
  }
  if (comma != std::string::npos && point != std::string::npos) {
    return comma < point ? NumberStyle::kPoint : NumberStyle::kComma;
  }
  const bool commas = comma != std::string::npos;
  const size_t last = commas ? comma : point;
  const bool several = cell.find(commas ? ',' : '.') != last;
  const size_t before = cell.find_first_of("123456789");
  // Several marks of a kind are thousands; one that does not stand after one to
  // three digits, the first no zero, and before three is decimal.
  const bool three = cell.size() - last - 1 == 3 && before < last &&
                     last - before <= 3 &&
                     cell.find_first_not_of("+-") == before;
  if (several) return commas ? NumberStyle::kPoint : NumberStyle::kComma;
  if (!three) return commas ? NumberStyle::kComma : NumberStyle::kPoint;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<NumberStyle> NumberStyleOf(
    const std::vector<std::string>& cells) {
  std::optional<NumberStyle> style;
  std::string because;
  for (const std::string& cell : cells) {
    const std::optional<NumberStyle> told = StyleOf(WithoutGaps(cell));
    if (!told.has_value() || told == style) continue;
    if (style.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("numbers are written in two ways: \"", because,
                       "\" and \"", cell, "\""));
    }
    style = told;
    because = cell;
  }
  return style.value_or(NumberStyle::kPoint);
}

std::optional<double> ReadNumber(absl::string_view cell, NumberStyle style) {
  std::string text = WithoutGaps(cell);
  if (style == NumberStyle::kPoint) {
    text = absl::StrReplaceAll(text, {{",", ""}});
  } else {
    text = absl::StrReplaceAll(text, {{".", ""}, {",", "."}});
  }
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string CsvLine(const std::vector<std::string>& cells) {
  return absl::StrCat(
      absl::StrJoin(cells, ",",
                    [](std::string* out, const std::string& cell) {
                      if (cell.find_first_of(",\"\r\n") == std::string::npos) {
                        absl::StrAppend(out, cell);
                        return;
                      }
                      absl::StrAppend(
                          out, "\"",
                          absl::StrReplaceAll(cell, {{"\"", "\"\""}}), "\"");
                    }),
      "\n");
}

std::string NumberCell(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.6g", *value) : "";
}

}  // namespace mansard::calibrate
