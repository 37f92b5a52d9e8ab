#include "calibrate/import/rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "calibrate/import/cells.h"

namespace mansard::calibrate {

std::string GemmTable(const std::vector<GemmRow>& rows,
                      const RowContext& context, const std::string& framework) {
  const std::string& name = context.engine.empty() ? framework : context.engine;
  std::string csv = CsvLine({"device", "dtype_in", "dtype_weight", "dtype_out",
                             "quant", "batch", "m", "n", "k", "latency_us",
                             "framework", "framework_version", "kernel",
                             "scope", "flag", "quality", "source"});
  for (const GemmRow& row : rows) {
    absl::StrAppend(
        &csv,
        CsvLine({context.device, row.input, row.weights, row.output,
                 row.quantization, absl::StrCat(row.batch), absl::StrCat(row.m),
                 absl::StrCat(row.n), absl::StrCat(row.k),
                 NumberCell(row.seconds * 1e6), name, context.engine_version,
                 row.kernel, "gemm", row.flag, row.quality, context.source}));
  }
  return csv;
}

std::string Counted(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

absl::Status CheckContext(const RowContext& context, bool needs_link) {
  std::vector<std::string> missing;
  if (context.device.empty()) missing.push_back("--hardware");
  if (needs_link && context.link.empty()) missing.push_back("--link");
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(missing, ", "), missing.size() == 1 ? ": is" : ": are",
      " missing; the tool's output does not say it"));
}

}  // namespace mansard::calibrate
