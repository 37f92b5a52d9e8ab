#include "calibrate/fit/gemm_rows.h"

#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "calibrate/tables/csv.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

// Texts in the order of the struct, then numbers.
constexpr std::array<const char*, 15> kColumns = {"device",
                                                  "dtype_in",
                                                  "dtype_weight",
                                                  "dtype_out",
                                                  "quant",
                                                  "framework",
                                                  "framework_version",
                                                  "scope",
                                                  "source",
                                                  "flag",
                                                  "batch",
                                                  "m",
                                                  "n",
                                                  "k",
                                                  "latency_us"};
constexpr size_t kTexts = 10;

// Empty and non-numeric cells read as 0.
double NumberIn(const std::string& cell) {
  double value = 0;
  return absl::SimpleAtod(cell, &value) && std::isfinite(value) ? value : 0;
}

}  // namespace

absl::StatusOr<std::vector<GemmRow>> ReadGemmRows(absl::string_view csv) {
  CsvReader reader(csv);
  std::array<size_t, kColumns.size()> column{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    ASSIGN_OR_RETURN(column[i], reader.Column(kColumns[i]));
  }
  std::vector<GemmRow> rows;
  std::vector<std::string> cells;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(cells));
    if (!more) break;
    GemmRow row;
    const std::array<std::string*, kTexts> texts = {
        &row.device,        &row.input_format, &row.weight_format,
        &row.output_format, &row.quantization, &row.framework,
        &row.version,       &row.scope,        &row.source,
        &row.flag};
    for (size_t i = 0; i < kTexts; ++i) *texts[i] = cells[column[i]];
    const std::array<int64_t*, 4> counts = {&row.batch, &row.m, &row.n, &row.k};
    for (size_t i = 0; i < counts.size(); ++i) {
      *counts[i] = static_cast<int64_t>(NumberIn(cells[column[kTexts + i]]));
    }
    row.time = model::Microseconds(NumberIn(cells[column[kTexts + 4]]));
    if (row.batch > 0 && row.m > 0 && row.n > 0 && row.k > 0 &&
        row.time.value() > 0) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace mansard::calibrate
