// Rows of the measured tables (calibrate/tables), as imports write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// What no tool's output says, in the words of the tables.
struct RowContext {
  std::string device = "";  // "H100_SXM".
  std::string link = "";    // "NVLink4"; collectives.
  // Of nccl-tests that do not name it: "all_reduce".
  std::string operation = "";
  // Whose kernels they are, where the tool's output is an engine's:
  // "vLLM", "0.24.0".
  std::string engine = "";
  std::string engine_version = "";
  std::string source = "";  // Of every row.
};

// A measured product.
struct GemmRow {
  std::string input = "";  // "bf16", and so on as in the tables.
  std::string weights = "";
  std::string output = "";
  std::string quantization = "none";
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  double seconds = 0;
  std::string kernel = "";
  // Not empty: what speaks against the row; fits leave it out.
  std::string flag = "";
  std::string quality = "";  // How it was measured.
};

// A table "gemm". `framework`: without an engine.
std::string GemmTable(const std::vector<GemmRow>& rows,
                      const RowContext& context, const std::string& framework);

// "1 row", "2 rows".
std::string Counted(size_t count, absl::string_view noun);

// Whether the context has what the table needs. Error: INVALID_ARGUMENT names
// every flag that is missing. `needs_link`: collectives.
absl::Status CheckContext(const RowContext& context, bool needs_link);

}  // namespace mansard::calibrate
