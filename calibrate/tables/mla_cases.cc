#include "calibrate/tables/mla_cases.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "calibrate/tables/kernel_slices.h"
#include "calibrate/tables/mla_module.h"
#include "calibrate/tables/names.h"
#include "calibrate/tables/table.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using MaybeOps = std::optional<model::OpList>;

constexpr absl::string_view kModule = "mla_module_with_projections_";

struct ModuleFormat {
  const char* name;
  Format weights;
};
constexpr ModuleFormat kModuleFormats[] = {{"bfloat16", Format::kBf16},
                                           {"fp8_block", Format::kFp8Block},
                                           {"nvfp4", Format::kNvfp4}};

model::LatentAttentionShape ShapeOf(const Table& table, Format input,
                                    Format cache) {
  const int64_t tokens = table.count("q_len");
  const bool decode = table.text("phase") == "decode";
  return {
      .group = {decode ? model::Role::kDecode : model::Role::kPrefill,
                table.count("batch"), tokens, table.count("kv_len") - tokens},
      .query_heads = static_cast<int>(table.count("heads")),
      .kv_lora_rank = static_cast<int>(table.count("kv_lora_rank")),
      .nope_head_size = static_cast<int>(table.count("qk_nope_dim")),
      .rope_head_size = static_cast<int>(table.count("rope_dim")),
      .value_head_size = static_cast<int>(table.count("v_dim")),
      .input = input,
      .kv_cache = cache};
}

// SGLang serves prompts on Hopper as it serves decodes. An indexer that leaves
// every position is the same work.
model::LatentAttentionShape AsServed(model::LatentAttentionShape shape,
                                     const std::string& framework,
                                     const model::Device& device) {
  if (framework == "SGLang" &&
      absl::StartsWith(device.spec().architecture, "Hopper")) {
    shape.top_k = shape.group.context();
  }
  return shape;
}

bool HasShape(const Table& table) {
  const bool product = absl::StartsWith(table.text("op"), "mla_bmm_");
  return std::min({table.count("batch"), table.count("heads"),
                   table.count("kv_lora_rank"), table.count("rope_dim"),
                   table.count("qk_nope_dim"), table.count("v_dim")}) > 0 &&
         (product || (table.count("q_len") > 0 &&
                      table.count("kv_len") >= table.count("q_len"))) &&
         table.number("latency_us") > 0;
}

void SetAttention(const Table& table, MeasuredCase& measured) {
  const auto input = FormatOfType(table.text("dtype"));
  const auto cache = FormatOfType(table.text("kv_dtype"));
  measured.slice =
      absl::StrCat(table.text("phase"), " ",
                   CacheSlice(table.text("dtype"), table.text("kv_dtype")));
  if (!input || !cache) return;
  const model::LatentAttentionShape shape = ShapeOf(table, *input, *cache);
  const double width = shape.kv_lora_rank + shape.rope_head_size;
  measured.size =
      model::ElementBytes(
          *cache, width * static_cast<double>(shape.group.request_count *
                                              shape.group.context()))
          .value();
  measured.ops = [shape, input = *input, framework = measured.framework](
                     const model::Device& device,
                     const model::KernelStack&) -> MaybeOps {
    if (!device.HasTensor(input)) return std::nullopt;
    return model::OpList{
        model::LatentAttentionOp(AsServed(shape, framework, device))};
  };
}

void SetModule(const Table& table, MeasuredCase& measured) {
  SetAttention(table, measured);
  measured.in_target = false;
  const absl::string_view name =
      absl::StripPrefix(absl::string_view(table.text("op")), kModule);
  measured.slice =
      absl::StrCat(table.text("phase"), " module ", name, ", ",
                   CacheSlice(table.text("dtype"), table.text("kv_dtype")));
  const auto cache = FormatOfType(table.text("kv_dtype"));
  const auto* format = std::find_if(
      std::begin(kModuleFormats), std::end(kModuleFormats),
      [&](const ModuleFormat& known) { return name == known.name; });
  if (!cache || format == std::end(kModuleFormats)) {
    measured.ops = nullptr;
    return;
  }
  const MlaModule module{.attention = ShapeOf(table, Format::kBf16, *cache),
                         .weights = format->weights};
  measured.ops = [module](const model::Device& device,
                          const model::KernelStack& stack) {
    return MlaModuleOps(module, device, stack);
  };
}

void SetProduct(const Table& table, MeasuredCase& measured) {
  const bool query = table.text("op") == "mla_bmm_q_absorb";
  measured.in_target = false;
  measured.slice =
      absl::StrCat(query ? "absorb " : "expand ", table.text("dtype"));
  const auto format = FormatOfType(table.text("dtype"));
  if (!format) return;
  const int64_t rank = table.count("kv_lora_rank");
  const model::Op op =
      query ? AbsorptionOp(table.count("batch"),
                           static_cast<int>(table.count("heads")), rank,
                           table.count("qk_nope_dim"), *format)
            : AbsorptionOp(table.count("batch"),
                           static_cast<int>(table.count("heads")),
                           table.count("v_dim"), rank, *format);
  measured.size = op.work.tensor.value();
  measured.ops = [op, format = *format](
                     const model::Device& device,
                     const model::KernelStack& stack) -> MaybeOps {
    if (!device.HasTensor(format) || stack.GemmFor(format) == nullptr) {
      return std::nullopt;
    }
    return model::OpList{op};
  };
}

MeasuredCase CaseOf(const Table& table) {
  MeasuredCase measured = table.CommonCase();
  measured.side = SideOf({table.count("batch"), table.count("q_len"),
                          table.count("kv_len"), table.count("heads")});
  measured.warm_cache = IsRepeated(measured.source);
  measured.shape = absl::StrCat(
      "batch=", table.count("batch"), " q=", table.count("q_len"),
      " kv=", table.count("kv_len"), " heads=", table.count("heads"));
  const std::string& op = table.text("op");
  measured.slice = op;
  if (op == "mla_attention_core") {
    SetAttention(table, measured);
  } else if (absl::StartsWith(op, kModule)) {
    SetModule(table, measured);
  } else if (op == "mla_bmm_q_absorb" || op == "mla_bmm_v_up") {
    SetProduct(table, measured);
  }
  if (measured.ops == nullptr) {
    measured.in_target = false;
    measured.ops = [](const model::Device&,
                      const model::KernelStack&) -> MaybeOps {
      return std::nullopt;
    };
  }
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadMlaCases(absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(csv, {"phase", "op", "device", "dtype", "kv_dtype", "batch",
                        "q_len", "kv_len", "heads", "kv_lora_rank", "rope_dim",
                        "qk_nope_dim", "v_dim", "latency_us", "framework",
                        "framework_version", "kernel", "source", "flag"}));
  std::vector<MeasuredCase> cases;
  std::vector<std::string> kernels;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    if (!HasShape(table)) continue;
    cases.push_back(CaseOf(table));
    kernels.push_back(table.text("kernel"));
  }
  SliceByKernel(kernels, cases);
  return cases;
}

}  // namespace mansard::calibrate
