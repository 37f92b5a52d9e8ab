#include "calibrate/tables/mixed_cases.h"

#include <algorithm>
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
using model::Role;

AttentionShape ShapeOf(const Table& table, const model::RequestGroup& group,
                       model::Format input, model::Format cache) {
  return {.group = group,
          .query_heads = static_cast<int>(table.count("heads")),
          .kv_heads = static_cast<int>(table.count("kv_heads")),
          .head_size = static_cast<int>(table.count("head_dim")),
          .with_prompts = true,
          .input = input,
          .kv_cache = cache};
}

model::OpList OpsOf(const Table& table, model::Format input,
                    model::Format cache) {
  const model::RequestGroup prompt = {
      .role = Role::kPrefill,
      .request_count = 1,
      .new_tokens = table.count("prefill_q_len"),
      .prior_tokens = table.count("prefill_prior_kv_len")};
  const model::RequestGroup decodes = {
      .role = Role::kDecode,
      .request_count = table.count("decode_batch"),
      .new_tokens = 1,
      .prior_tokens = table.count("decode_kv_len") - 1};
  return {model::AttentionOp(ShapeOf(table, prompt, input, cache)),
          model::AttentionOp(ShapeOf(table, decodes, input, cache))};
}

MeasuredCase CaseOf(const Table& table, model::Format input,
                    model::Format cache) {
  MeasuredCase measured = table.CommonCase();
  measured.side = SideOf(
      {table.count("prefill_q_len"), table.count("prefill_prior_kv_len"),
       table.count("decode_batch"), table.count("decode_kv_len"),
       table.count("heads"), table.count("kv_heads"), table.count("head_dim")});
  measured.slice = CacheSlice(table.text("dtype"), table.text("kv_dtype"));
  measured.warm_cache = IsRepeated(measured.source);
  measured.shape = absl::StrCat(
      "q=", table.count("prefill_q_len"),
      " prior=", table.count("prefill_prior_kv_len"),
      " decodes=", table.count("decode_batch"),
      " kv=", table.count("decode_kv_len"), " heads=", table.count("heads"),
      "/", table.count("kv_heads"), " head_size=", table.count("head_dim"));
  model::OpList ops = OpsOf(table, input, cache);
  measured.size = (ops.front().work.tensor + ops.back().work.tensor).value();
  measured.ops =
      [ops = std::move(ops), input](
          const model::Device& device,
          const model::KernelStack&) -> std::optional<model::OpList> {
    if (!device.HasTensor(input)) return std::nullopt;
    return ops;
  };
  return measured;
}

bool HasShape(const Table& table) {
  return std::min({table.count("prefill_q_len"), table.count("decode_batch"),
                   table.count("decode_kv_len"), table.count("kv_heads"),
                   table.count("head_dim")}) > 0 &&
         table.count("prefill_prior_kv_len") >= 0 &&
         table.count("heads") >= table.count("kv_heads") &&
         table.number("latency_us") > 0;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadMixedCases(
    absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(csv, {"device", "dtype", "kv_dtype", "prefill_q_len",
                        "prefill_prior_kv_len", "decode_batch", "decode_kv_len",
                        "heads", "kv_heads", "head_dim", "latency_us",
                        "framework", "framework_version", "kernel", "source"}));
  std::vector<MeasuredCase> cases;
  std::vector<std::string> kernels;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    const auto input = FormatOfType(table.text("dtype"));
    const auto cache = FormatOfType(table.text("kv_dtype"));
    if (!HasShape(table) || !input || !cache) continue;
    cases.push_back(CaseOf(table, *input, *cache));
    kernels.push_back(table.text("kernel"));
  }
  SliceByKernel(kernels, cases);
  return cases;
}

}  // namespace mansard::calibrate
