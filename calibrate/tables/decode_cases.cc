#include "calibrate/tables/decode_cases.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "calibrate/tables/kernel_slices.h"
#include "calibrate/tables/names.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

model::AttentionShape ShapeOf(const Table& table, model::Format input,
                              model::Format cache) {
  return {.group = {model::Role::kDecode, table.count("batch"), 1,
                    table.count("kv_len") - 1},
          .query_heads = static_cast<int>(table.count("heads")),
          .kv_heads = static_cast<int>(table.count("kv_heads")),
          .head_size = static_cast<int>(table.count("head_dim")),
          .window = table.count("window"),
          .input = input,
          .kv_cache = cache};
}

MeasuredCase CaseOf(const Table& table) {
  MeasuredCase measured = table.CommonCase();
  const int64_t window = table.count("window");
  measured.side =
      SideOf({table.count("batch"), table.count("kv_len"), table.count("heads"),
              table.count("kv_heads"), table.count("head_dim"), window});
  measured.slice = CacheSlice(table.text("dtype"), table.text("kv_dtype"));
  measured.warm_cache = IsRepeated(measured.source);
  measured.shape = absl::StrCat(
      "batch=", table.count("batch"), " kv=", table.count("kv_len"),
      " heads=", table.count("heads"), "/", table.count("kv_heads"),
      " head=", table.count("head_dim"),
      window == 0 ? "" : absl::StrCat(" window=", window));
  const auto input = FormatOfType(table.text("dtype"));
  const auto cache = FormatOfType(table.text("kv_dtype"));
  if (!input || !cache) {
    measured.ops = [](const model::Device&, const model::KernelStack&)
        -> std::optional<model::OpList> { return std::nullopt; };
    return measured;
  }
  const model::Op op = model::AttentionOp(ShapeOf(table, *input, *cache));
  measured.size = op.work.kv_read.value();
  measured.ops =
      [op, input = *input](
          const model::Device& device,
          const model::KernelStack&) -> std::optional<model::OpList> {
    if (!device.HasTensor(input)) return std::nullopt;
    return model::OpList{op};
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadDecodeCases(
    absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(csv,
                  {"device", "dtype", "kv_dtype", "batch", "kv_len", "heads",
                   "kv_heads", "head_dim", "window", "latency_us", "framework",
                   "framework_version", "kernel", "source", "flag"}));
  std::vector<MeasuredCase> cases;
  std::vector<std::string> kernels;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    if (std::min({table.count("batch"), table.count("kv_len"),
                  table.count("heads"), table.count("kv_heads"),
                  table.count("head_dim")}) <= 0 ||
        table.count("window") < 0 || table.number("latency_us") <= 0) {
      continue;
    }
    cases.push_back(CaseOf(table));
    kernels.push_back(table.text("kernel"));
  }
  SliceByKernel(kernels, cases);
  return cases;
}

}  // namespace mansard::calibrate
