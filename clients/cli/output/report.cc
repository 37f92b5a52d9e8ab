#include "clients/cli/output/report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace mansard::cli {
namespace {

constexpr int kIndent = 2;
constexpr int kGap = 2;
// A wrapped column is never narrower.
constexpr int kMinWrappedWidth = 20;

// Columns on a terminal, taking one for each UTF-8 code point.
int DisplayWidth(absl::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::vector<std::string> WrapWords(absl::string_view text, int width) {
  std::vector<std::string> lines(1);
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    std::string& line = lines.back();
    if (line.empty()) {
      line = std::string(word);
    } else if (DisplayWidth(line) + 1 + DisplayWidth(word) <= width) {
      absl::StrAppend(&line, " ", word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string Padded(const std::string& text, int width, Align align) {
  const std::string padding(
      static_cast<size_t>(std::max(0, width - DisplayWidth(text))), ' ');
  return align == Align::kLeft ? text + padding : padding + text;
}

// A number that is not 0 never looks like 0.
std::string NumberText(double scaled, int decimals) {
  if (scaled != 0 && std::abs(scaled) < 0.5 * std::pow(10, -decimals)) {
    return absl::StrCat("<", Grouped(std::pow(10, -decimals), decimals));
  }
  return Grouped(scaled, decimals);
}

// One column, ready to print: its header and cells as text.
struct TextColumn {
  std::vector<std::string> cells;  // The header first.
  int width = 0;
};

TextColumn RenderColumn(const Report& report, size_t index) {
  const Column& column = report.columns[index];
  double largest = 0;
  bool has_numbers = false;
  for (const auto& row : report.rows) {
    const double* number = std::get_if<double>(&row[index].value);
    if (number != nullptr && row[index].shown.empty()) {
      largest = std::max(largest, std::abs(*number));
      has_numbers = true;
    }
  }
  if (column.scaled_by != 0) largest = column.scaled_by;
  const Scale scale = ScaleFor(column.unit, largest);
  const int decimals = column.unit == Unit::kNone ? 0
                       : column.unit == Unit::kPercent
                           ? 1
                           : DecimalsFor(largest / scale.factor);
  TextColumn text;
  text.cells.push_back(scale.label.empty() || !has_numbers
                           ? column.name
                           : absl::StrCat(column.name, " ", scale.label));
  for (const auto& row : report.rows) {
    const auto& value = row[index].value;
    if (!row[index].shown.empty()) {
      text.cells.push_back(row[index].shown);
    } else if (const double* number = std::get_if<double>(&value)) {
      text.cells.push_back(NumberText(*number / scale.factor, decimals));
    } else if (const std::string* words = std::get_if<std::string>(&value)) {
      text.cells.push_back(*words);
    } else {
      text.cells.push_back("-");
    }
  }
  for (const std::string& cell : text.cells) {
    text.width = std::max(text.width, DisplayWidth(cell));
  }
  return text;
}

// Without the columns that are for programs.
Report ForPeople(const Report& report) {
  Report out;
  out.rows.resize(report.rows.size());
  for (size_t i = 0; i < report.columns.size(); ++i) {
    if (report.columns[i].reader == Reader::kPrograms) continue;
    out.columns.push_back(report.columns[i]);
    for (size_t row = 0; row < report.rows.size(); ++row) {
      out.rows[row].push_back(report.rows[row][i]);
    }
  }
  return out;
}

std::string TrimmedLine(absl::string_view line) {
  return absl::StrCat(absl::StripTrailingAsciiWhitespace(line), "\n");
}

}  // namespace

Cell Text(absl::string_view text, Tone tone) {
  if (text.empty()) return {};
  return {std::string(text), tone};
}

Cell Number(double value) {
  if (!std::isfinite(value)) return {};
  return {value, Tone::kPlain};
}

Cell NumberOrNothing(double value) {
  return value == 0 ? Cell() : Number(value);
}

Cell Quantity(double value, Unit unit) {
  Cell cell = Number(value);
  cell.shown = unit == Unit::kNone ? Grouped(value, 0) : WithUnit(value, unit);
  cell.unit = unit;
  return cell;
}

Cell ShownAs(Cell cell, absl::string_view shown) {
  cell.shown = std::string(shown);
  return cell;
}

std::string MarkdownTable(const Report& whole) {
  const Report report = ForPeople(whole);
  std::vector<TextColumn> columns;
  std::string rule = "|";
  for (size_t i = 0; i < report.columns.size(); ++i) {
    columns.push_back(RenderColumn(report, i));
    absl::StrAppend(
        &rule, report.columns[i].align == Align::kLeft ? " :--- |" : " ---: |");
  }
  std::string out = "\n";
  for (size_t row = 0; row <= report.rows.size(); ++row) {
    absl::StrAppend(&out, "|");
    for (const TextColumn& column : columns) {
      const std::string cell = absl::StrReplaceAll(
          absl::StripAsciiWhitespace(column.cells[row]),
          {{"\\", "\\\\"}, {"|", "\\|"}, {"\r", ""}, {"\n", " "}});
      absl::StrAppend(&out, " ", cell, cell.empty() ? "|" : " |");
    }
    absl::StrAppend(&out, "\n");
    if (row == 0) absl::StrAppend(&out, rule, "\n");
  }
  return out + "\n";
}

std::string MarkdownPage(absl::string_view text) {
  std::string out;
  bool blank = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StripAsciiWhitespace(line).empty()) {
      blank = !out.empty();
      continue;
    }
    absl::StrAppend(&out, blank ? "\n" : "", line, "\n");
    blank = false;
  }
  return out;
}

std::string TableText(const Report& whole, const Style& style) {
  if (style.markdown()) return MarkdownTable(whole);
  const Report report = ForPeople(whole);
  std::vector<TextColumn> columns;
  int offset = kIndent;  // Of the last column.
  for (size_t i = 0; i < report.columns.size(); ++i) {
    columns.push_back(RenderColumn(report, i));
    if (i + 1 < report.columns.size()) offset += columns[i].width + kGap;
  }
  const size_t last = report.columns.size() - 1;
  const bool wraps = report.columns[last].align == Align::kLeft;
  const int last_width = std::max(kMinWrappedWidth, kMaxWidth - offset);
  std::string out;
  for (size_t row = 0; row <= report.rows.size(); ++row) {
    std::string line(kIndent, ' ');
    std::vector<std::string> overflow;
    for (size_t i = 0; i < columns.size(); ++i) {
      std::string cell = columns[i].cells[row];
      if (i == last && wraps) {
        overflow = WrapWords(cell, last_width);
        cell = overflow.front();
      } else {
        cell = Padded(cell, columns[i].width, report.columns[i].align);
      }
      const Tone tone = row == 0 ? Tone::kFaint : report.rows[row - 1][i].tone;
      absl::StrAppend(&line, style.Paint(tone, cell),
                      i == last ? "" : std::string(kGap, ' '));
    }
    absl::StrAppend(&out, TrimmedLine(line));
    for (size_t i = 1; i < overflow.size(); ++i) {
      absl::StrAppend(&out, std::string(static_cast<size_t>(offset), ' '),
                      overflow[i], "\n");
    }
  }
  return out;
}

std::string Wrapped(absl::string_view text, int indent) {
  std::string out;
  for (const std::string& line : WrapWords(text, kMaxWidth - indent)) {
    if (!out.empty()) out.append(static_cast<size_t>(indent), ' ');
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

}  // namespace mansard::cli
