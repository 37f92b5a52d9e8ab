#include "calibrate/tables/serving_rows.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibrate/tables/csv.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

std::optional<ServingMode> ModeNamed(absl::string_view name) {
  if (name == "aggregated") return ServingMode::kAggregated;
  if (name == "disaggregated") return ServingMode::kDisaggregated;
  if (name == "prefill_only") return ServingMode::kPrefillOnly;
  if (name == "decode_only") return ServingMode::kDecodeOnly;
  return std::nullopt;
}

LoadType LoadNamed(absl::string_view name) {
  if (name == "fixed_concurrency_online") return LoadType::kFixedConcurrency;
  if (name == "static_batch_offline") return LoadType::kStaticBatch;
  if (name == "offline_max_load") return LoadType::kMaximum;
  if (name == "poisson_or_fixed_rate_online") return LoadType::kRate;
  if (absl::StartsWith(name, "trace_replay")) return LoadType::kTrace;
  return LoadType::kOther;
}

// Columns that begin with `prefix`.
RowLayout LayoutOf(const Table& table, absl::string_view prefix) {
  const auto count = [&](absl::string_view column) {
    return table.count(absl::StrCat(prefix, column));
  };
  RowLayout layout;
  layout.tensor = count("tp");
  layout.data = count("dp");
  layout.expert = count("ep");
  layout.moe_tensor = count("moe_tp");
  if (prefix.empty()) {
    layout.pipeline = count("pp");
  } else {
    layout.workers = count("workers");
  }
  return layout;
}

std::vector<std::string> Columns() {
  std::vector<std::string> columns = absl::StrSplit(
      "device,n_gpus,model,precision,kv_dtype,serving_mode,pp,isl,osl,batch,"
      "concurrency,request_rate_rps,ttft_ms,tpot_ms,request_latency_ms,"
      "load_type,framework,framework_version,quality_flag,source",
      ',');
  for (const char* prefix : {"", "prefill_", "decode_"}) {
    for (const char* size : {"tp", "dp", "ep", "moe_tp"}) {
      columns.push_back(absl::StrCat(prefix, size));
    }
  }
  columns.push_back("prefill_workers");
  columns.push_back("decode_workers");
  return columns;
}

ServingRow RowOf(const Table& table, ServingMode mode) {
  ServingRow row;
  row.row = table.row();
  row.device = table.text("device");
  row.model = table.text("model");
  row.precision = table.text("precision");
  row.kv_format = table.text("kv_dtype");
  row.mode = mode;
  row.devices = table.count("n_gpus");
  row.layout = LayoutOf(table, "");
  row.prefill = LayoutOf(table, "prefill_");
  row.decode = LayoutOf(table, "decode_");
  row.input_tokens = table.number("isl");
  row.output_tokens = table.number("osl");
  row.batch = table.number("batch");
  row.concurrency = table.number("concurrency");
  row.requests_per_second = table.number("request_rate_rps");
  row.ttft_ms = table.number("ttft_ms");
  row.tpot_ms = table.number("tpot_ms");
  row.latency_ms = table.number("request_latency_ms");
  row.load = LoadNamed(table.text("load_type"));
  row.engine = table.text("framework");
  row.version = table.text("framework_version");
  row.flag = table.text("quality_flag");
  row.source = table.text("source");
  return row;
}

}  // namespace

bool IsServingTable(absl::string_view csv) {
  const CsvReader reader(csv);
  for (const absl::string_view column : absl::StrSplit(kServingColumns, ',')) {
    if (!reader.Column(column).ok()) return false;
  }
  return true;
}

absl::StatusOr<std::vector<ServingRow>> ReadServingRows(absl::string_view csv) {
  ASSIGN_OR_RETURN(Table table, Table::Open(csv, Columns()));
  std::vector<ServingRow> rows;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) return rows;
    const std::optional<ServingMode> mode =
        ModeNamed(table.text("serving_mode"));
    if (!mode.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", table.row(), ": serving_mode is \"",
                       table.text("serving_mode"),
                       "\"; allowed: aggregated, disaggregated, prefill_only, "
                       "decode_only"));
    }
    rows.push_back(RowOf(table, *mode));
  }
}

}  // namespace mansard::calibrate
