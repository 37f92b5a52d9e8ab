#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/output/report.h"

namespace mansard::cli {
namespace {

// Whole numbers below this are exact, and so are written without exponent.
constexpr double kExactWhole = 9007199254740992.0;  // 2^53.

// The fewest digits that read back as `value`.
std::string AllDigits(double value) {
  if (std::trunc(value) == value && std::abs(value) < kExactWhole) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  std::array<char, 32> text{};
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), result.ptr);
}

std::string Quoted(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == absl::string_view::npos) {
    return std::string(text);
  }
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// "kv_per_token" of "KV/token".
std::string SnakeCase(absl::string_view name) {
  std::string out;
  for (const char c :
       absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"/", " per "}}))) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      out.push_back(c);
    } else if (!out.empty() && out.back() != '_') {
      out.push_back('_');
    }
  }
  if (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

std::string CsvName(const Column& column) {
  if (!column.csv_name.empty()) return column.csv_name;
  const std::string name = SnakeCase(column.name);
  const absl::string_view unit = UnitWord(column.unit);
  return unit.empty() || absl::EndsWith(name, unit)
             ? name
             : absl::StrCat(name, "_", unit);
}

// Indents and blanks are for people.
std::string ValueText(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell.value)) {
    return AllDigits(*number);
  }
  const std::string* words = std::get_if<std::string>(&cell.value);
  return words == nullptr ? "" : Quoted(absl::StripAsciiWhitespace(*words));
}

}  // namespace

std::string CsvText(const Report& report) {
  // The header first.
  std::vector<std::vector<std::string>> lines(report.rows.size() + 1);
  for (size_t i = 0; i < report.columns.size(); ++i) {
    if (report.columns[i].reader == Reader::kPeople) continue;
    const std::string name = CsvName(report.columns[i]);
    const bool quantities =
        std::any_of(report.rows.begin(), report.rows.end(),
                    [i](const auto& row) { return row[i].unit.has_value(); });
    lines[0].push_back(Quoted(name));
    if (quantities) lines[0].push_back(Quoted(absl::StrCat(name, "_unit")));
    for (size_t row = 0; row < report.rows.size(); ++row) {
      const Cell& cell = report.rows[row][i];
      lines[row + 1].push_back(ValueText(cell));
      if (quantities) {
        lines[row + 1].emplace_back(UnitWord(cell.unit.value_or(Unit::kNone)));
      }
    }
  }
  std::string out;
  for (const std::vector<std::string>& line : lines) {
    absl::StrAppend(&out, absl::StrJoin(line, ","), "\n");
  }
  return out;
}

}  // namespace mansard::cli
