// A table as data, and as text. JSON is not made from it: that is the
// response message itself.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/output/number.h"
#include "clients/cli/output/style.h"

namespace mansard::cli {

// Widest line of any output.
inline constexpr int kMaxWidth = 100;

enum class Align { kLeft, kRight };

// Who a column is for. Programs need every row whole; people, what is short.
enum class Reader { kBoth, kPeople, kPrograms };

struct Column {
  std::string name;
  Unit unit = Unit::kNone;
  Align align = Align::kRight;
  // In CSV, unit included; empty: made from name and unit.
  std::string csv_name = "";
  Reader reader = Reader::kBoth;
  // The number that chooses the scale of all; 0: the largest does.
  double scaled_by = 0;
};

// Nothing ("-"), text, or a number in the column's base unit.
struct Cell {
  std::variant<std::monostate, std::string, double> value;
  Tone tone = Tone::kPlain;
  // What people see, where it is not the value in its column's scale.
  std::string shown = "";
  // Of a number that has another unit than its column.
  std::optional<Unit> unit = std::nullopt;
};
Cell Text(absl::string_view text, Tone tone = Tone::kPlain);
Cell Number(double value);
// Nothing where the value is 0.
Cell NumberOrNothing(double value);
// A number with a unit of its own: "989 TFLOP/s".
Cell Quantity(double value, Unit unit);
// The cell's value for programs, `shown` for people.
Cell ShownAs(Cell cell, absl::string_view shown);

struct Report {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

// Header with units, then rows, indented by two; with a style for Markdown, as
// MarkdownTable. Every number column has one scale. A last column of text is
// wrapped to stay within kMaxWidth.
std::string TableText(const Report& report, const Style& style);

// The cells of TableText as a pipe table, with a blank line before and after.
std::string MarkdownTable(const Report& report);
// `text` without blank lines at its ends or more than one in a row.
std::string MarkdownPage(absl::string_view text);

// Comma-separated values, quoted as RFC 4180 says, lines ended by "\n". Names
// in the header end in the unit ("time_seconds"); numbers are in base units
// with all digits; nothing is an empty field. A column of quantities is
// followed by one with their units ("value", "value_unit").
std::string CsvText(const Report& report);

// Words in lines of at most kMaxWidth; lines after the first are indented.
std::string Wrapped(absl::string_view text, int indent);

}  // namespace mansard::cli
