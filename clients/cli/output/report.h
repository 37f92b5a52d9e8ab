// A table as data, and as text. JSON is not made from it: that is the
// response message itself.
#pragma once

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

struct Column {
  std::string name;
  Unit unit = Unit::kNone;
  Align align = Align::kRight;
};

// Nothing ("-"), text, or a number in the column's base unit.
struct Cell {
  std::variant<std::monostate, std::string, double> value;
  Tone tone = Tone::kPlain;
};
Cell Text(absl::string_view text, Tone tone = Tone::kPlain);
Cell Number(double value);
// Nothing where the value is 0.
Cell NumberOrNothing(double value);

struct Report {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

// Header with units, then rows, indented by two. Every number column has one
// scale. A last column of text is wrapped to stay within kMaxWidth.
std::string TableText(const Report& report, const Style& style);

// Words in lines of at most kMaxWidth; lines after the first are indented.
std::string Wrapped(absl::string_view text, int indent);

}  // namespace mansard::cli
