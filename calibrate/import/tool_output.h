// Outputs of other people's measuring tools, as files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

enum class ToolFormat {
  kNvbandwidth,     // JSON of --json.
  kNcclTests,       // What *_perf print; of rccl-tests, too.
  kPerftest,        // What ib_write_bw, ib_read_bw and ib_send_bw print.
  kNsightCompute,   // ncu --csv: raw page, or one line a metric.
  kRocprofCompute,  // pmc_perf.csv.
  kCutlass,         // cutlass_profiler: --output, or what it prints.
  kTorchProfiler,   // Chrome trace, recorded with record_shapes.
};
inline constexpr ToolFormat kToolFormats[] = {
    ToolFormat::kNvbandwidth,    ToolFormat::kNcclTests,
    ToolFormat::kPerftest,       ToolFormat::kNsightCompute,
    ToolFormat::kRocprofCompute, ToolFormat::kCutlass,
    ToolFormat::kTorchProfiler,
};
// "nvbandwidth", as --format spells it.
absl::string_view ToolFormatName(ToolFormat format);
// Error: INVALID_ARGUMENT names all formats.
absl::StatusOr<ToolFormat> ParseToolFormat(absl::string_view name);

// What is made of an output: text for a file, and what people should know of
// it, a line each: what was left out and why.
struct Imported {
  std::string text;
  std::vector<std::string> notes;
};

inline constexpr int64_t kMaxToolOutputBytes = int64_t{256} << 20;

// A whole file. Error: NOT_FOUND where it cannot be read, RESOURCE_EXHAUSTED
// above the limit.
absl::StatusOr<std::string> ReadToolOutput(const std::string& path);

// Whether it is text in UTF-8. Error: INVALID_ARGUMENT says what it is instead
// (empty, compressed, UTF-16, binary) and where.
absl::Status CheckToolText(absl::string_view text);

// By what only one tool writes. Error: INVALID_ARGUMENT where none fits, or
// several.
absl::StatusOr<ToolFormat> DetectToolFormat(absl::string_view text);

}  // namespace mansard::calibrate
