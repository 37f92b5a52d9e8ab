// Numbers and cells of tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// How a tool's locale writes 1234567.5.
enum class NumberStyle {
  kPoint,  // 1,234,567.5
  kComma,  // 1.234.567,5
};

// By the cells that leave no choice; kPoint where none does. Error:
// INVALID_ARGUMENT where two cells contradict each other.
absl::StatusOr<NumberStyle> NumberStyleOf(
    const std::vector<std::string>& cells);

// Thousands may also be apart by spaces or apostrophes. Empty for what is no
// finite number: "n/a" is unknown, and not 0.
std::optional<double> ReadNumber(absl::string_view cell,
                                 NumberStyle style = NumberStyle::kPoint);

// A line of CSV with its end; cells are quoted where they must be.
std::string CsvLine(const std::vector<std::string>& cells);
// Six digits; empty where it is unknown.
std::string NumberCell(const std::optional<double>& value);

}  // namespace mansard::calibrate
