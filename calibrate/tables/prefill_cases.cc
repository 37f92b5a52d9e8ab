#include "calibrate/tables/prefill_cases.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "calibrate/tables/kernel_slices.h"
#include "calibrate/tables/names.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::AttentionShape;
using model::Format;

constexpr int64_t kTargetTokens = 512;

struct Row {
  MeasuredCase measured;
  AttentionShape shape;
  std::string math;  // As the table spells it, as the next.
  std::string cache;
  std::string kernel;  // Without the model it was measured in.
};

// What an engine chooses its kernel by.
std::string EngineOf(const Row& row) {
  return absl::StrCat(row.measured.device, "|", row.measured.framework, "|",
                      row.measured.version, "|", row.cache);
}

// By engine and cache the kernel with the most causal rows, and whether it has
// 16-bit arithmetic there.
class MainKernels {
 public:
  explicit MainKernels(const std::vector<Row>& rows) {
    std::map<std::pair<std::string, std::string>, size_t> counts;
    for (const Row& row : rows) {
      if (!row.shape.causal) continue;
      const size_t count = ++counts[{EngineOf(row), row.kernel}];
      Main& main = main_[EngineOf(row)];
      if (count > main.rows) main = {row.kernel, count};
    }
    for (const Row& row : rows) {
      if (row.math == "fp8" || !row.shape.causal) continue;
      Main& main = main_[EngineOf(row)];
      main.wide_math |= row.kernel == main.kernel;
    }
  }

  bool Is(const Row& row) const {
    return main_.at(EngineOf(row)).kernel == row.kernel;
  }
  bool HasWideMath(const Row& row) const {
    return main_.at(EngineOf(row)).wide_math;
  }
  bool Knows(const Row& row) const { return main_.count(EngineOf(row)) > 0; }

 private:
  struct Main {
    std::string kernel;
    size_t rows = 0;
    bool wide_math = false;
  };
  std::map<std::string, Main> main_;
};

// Empty where the row's formats are none of the engine's.
std::optional<Row> RowOf(const Table& table) {
  Row row;
  const int64_t cached = table.count("kv_len") - table.count("q_len");
  AttentionShape& shape = row.shape;
  shape.group = {.role = model::Role::kPrefill,
                 .request_count = table.count("batch"),
                 .new_tokens = table.count("q_len"),
                 .prior_tokens = cached};
  shape.query_heads = static_cast<int>(table.count("heads"));
  shape.kv_heads = static_cast<int>(table.count("kv_heads"));
  shape.head_size = static_cast<int>(table.count("head_dim"));
  shape.window = table.count("window");
  shape.causal = table.count("causal") != 0;
  if (std::min({shape.group.request_count, shape.group.new_tokens,
                int64_t{shape.kv_heads}, int64_t{shape.head_size}}) <= 0 ||
      cached < 0 || shape.query_heads < shape.kv_heads ||
      table.number("latency_us") <= 0) {
    return std::nullopt;
  }
  row.math = table.text("dtype");
  row.cache = table.text("kv_dtype");
  const std::optional<Format> math = FormatOfType(row.math);
  const std::optional<Format> cache = FormatOfType(row.cache);
  if (!math || !cache) return std::nullopt;
  shape.input = *math;
  shape.kv_cache = *cache;
  const std::string& kernel = table.text("kernel");
  row.kernel = kernel.substr(0, kernel.find('|'));
  row.measured = table.CommonCase();
  row.measured.side =
      SideOf({shape.group.request_count, shape.group.new_tokens,
              shape.group.context(), shape.query_heads, shape.kv_heads,
              shape.head_size, shape.window, shape.causal});
  row.measured.in_target = shape.group.new_tokens >= kTargetTokens;
  row.measured.warm_cache = IsRepeated(row.measured.source);
  row.measured.shape = absl::StrCat(
      "batch=", shape.group.request_count, " q=", shape.group.new_tokens,
      " prior=", cached, " heads=", shape.query_heads, "/", shape.kv_heads,
      " head_size=", shape.head_size,
      shape.window == 0 ? "" : absl::StrCat(" window=", shape.window),
      shape.causal ? "" : " not causal");
  return row;
}

MeasuredCase CaseOf(const MainKernels& kernels, Row row) {
  const bool main = kernels.Knows(row) && kernels.Is(row);
  const bool stands_for_wide =
      main && row.math == "fp8" && !kernels.HasWideMath(row);
  if (stands_for_wide) {
    row.shape.input = Format::kBf16;
    row.math = "bf16";
  }
  MeasuredCase measured = std::move(row.measured);
  measured.slice = CacheSlice(row.math, row.cache);
  if (!row.shape.causal) {
    absl::StrAppend(&measured.slice, ", not causal");
  } else if (!main) {
    absl::StrAppend(&measured.slice, ", ", row.kernel);
  }
  measured.in_target &= main && row.shape.causal;
  const model::Op op = model::AttentionOp(row.shape);
  measured.size = op.work.tensor.value();
  measured.ops =
      [op](const model::Device& device,
           const model::KernelStack&) -> std::optional<model::OpList> {
    const auto& shape = std::get<AttentionShape>(op.shape);
    if (!device.HasTensor(shape.input)) return std::nullopt;
    return model::OpList{op};
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadPrefillCases(
    absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(csv, {"device", "dtype", "kv_dtype", "batch", "q_len",
                        "kv_len", "heads", "kv_heads", "head_dim", "window",
                        "causal", "latency_us", "framework",
                        "framework_version", "kernel", "source", "flag"}));
  std::vector<Row> rows;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    std::optional<Row> row = RowOf(table);
    if (row.has_value()) rows.push_back(*std::move(row));
  }
  const MainKernels kernels(rows);
  std::vector<MeasuredCase> cases;
  for (Row& row : rows) cases.push_back(CaseOf(kernels, std::move(row)));
  return cases;
}

}  // namespace mansard::calibrate
