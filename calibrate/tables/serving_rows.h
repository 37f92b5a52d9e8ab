// Runs of served models, one a row: what was asked of an engine and what came
// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mansard::calibrate {

// How ranks share a model. 0: the cell is empty.
struct RowLayout {
  int64_t tensor = 0;
  int64_t pipeline = 0;
  int64_t data = 0;
  int64_t expert = 0;
  int64_t moe_tensor = 0;
  int64_t workers = 0;  // Of a disaggregated pool.

  bool operator==(const RowLayout&) const = default;
};

enum class ServingMode {
  kAggregated,
  kDisaggregated,
  kPrefillOnly,
  kDecodeOnly,
};

enum class LoadType {
  kFixedConcurrency,
  kStaticBatch,  // All requests together, and no others.
  kMaximum,      // As many as the engine takes; the batch is not stated.
  kRate,
  kTrace,
  kOther,
};

struct ServingRow {
  size_t row = 0;  // In the file, from 0, its header not counted.
  std::string device;
  std::string model;
  std::string precision;
  std::string kv_format;
  ServingMode mode = ServingMode::kAggregated;
  int64_t devices = 0;
  RowLayout layout;   // Of aggregated rows.
  RowLayout prefill;  // Of disaggregated ones.
  RowLayout decode;
  double input_tokens = 0;
  double output_tokens = 0;
  double batch = 0;
  double concurrency = 0;
  double requests_per_second = 0;
  // 0: not measured.
  double ttft_ms = 0;
  double tpot_ms = 0;
  double latency_ms = 0;  // Of a request, of the batch where it is static.
  LoadType load = LoadType::kOther;
  std::string engine;
  std::string version;
  std::string flag;
  std::string source;  // "owner/name@commit:path".

  // Requests in flight: the concurrency, else the batch; 0: neither is known.
  double in_flight() const { return concurrency > 0 ? concurrency : batch; }
  // What has to be known to answer for a row, and to judge the answer.
  bool CountsForCoverage() const {
    return mode == ServingMode::kAggregated && tpot_ms > 0 &&
           !precision.empty() && in_flight() > 0;
  }
};

// The columns that tell such a table, as tables.cc has them of others.
inline constexpr char kServingColumns[] = "serving_mode,ttft_ms,tpot_ms";
bool IsServingTable(absl::string_view csv);

// Every row. Error: a column is missing, a row has another number of cells than
// the header, or a serving mode is none of the above.
absl::StatusOr<std::vector<ServingRow>> ReadServingRows(absl::string_view csv);

}  // namespace mansard::calibrate
