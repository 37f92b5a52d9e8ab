// A measured table, row by row, its cells by column name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/tables/csv.h"
#include "calibrate/tables/measured_case.h"

namespace mansard::calibrate {

class Table {
 public:
  // The text outlives the table. Error: a column is missing; all that are
  // missing are named.
  static absl::StatusOr<Table> Open(absl::string_view csv,
                                    const std::vector<std::string>& columns);

  // The next row; false after the last. Error: a row that is not one.
  absl::StatusOr<bool> Next();
  size_t row() const { return row_; }  // From 0.

  // Preconditions: a column that Open was given, and Next said true.
  const std::string& text(absl::string_view column) const;
  // 0 where the cell is empty or no finite number.
  double number(absl::string_view column) const;
  int64_t count(absl::string_view column) const;

  // row, device, framework, version (of the columns device, framework and
  // framework_version), source, flag (where the table has one) and the time in
  // latency_us.
  MeasuredCase CommonCase() const;

 private:
  Table(CsvReader reader, std::map<std::string, size_t> columns)
      : reader_(std::move(reader)), columns_(std::move(columns)) {}

  CsvReader reader_;
  std::map<std::string, size_t> columns_;
  std::vector<std::string> cells_;
  size_t row_ = 0;
  bool started_ = false;
};

}  // namespace mansard::calibrate
