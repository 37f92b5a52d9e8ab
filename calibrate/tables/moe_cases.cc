#include "calibrate/tables/moe_cases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "calibrate/tables/expert_load.h"
#include "calibrate/tables/kernel_slices.h"
#include "calibrate/tables/table.h"
#include "model/base/format.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Bytes;
using model::Format;
using model::GroupedGemmShape;
using model::Op;
using model::OpList;
using model::Part;

enum class Scope { kLayer, kUp, kDown };

struct Layer {
  Scope scope = Scope::kLayer;
  ExpertLayer experts;
  int64_t hidden = 0;
  int64_t inter = 0;  // On one rank.
  bool gated = true;
  bool even = false;
  ExpertLoad load;
  Format input = Format::kBf16;
  Format weights = Format::kBf16;
};

struct NamedFormat {
  const char* weights;
  const char* input;
  Format weight_format;
  Format input_format;
};
constexpr NamedFormat kFormats[] = {
    {"bf16", "bf16", Format::kBf16, Format::kBf16},
    {"fp8", "fp8", Format::kFp8E4m3, Format::kFp8E4m3},
    {"fp8_block128", "fp8", Format::kFp8Block, Format::kFp8Block},
    {"int4", "bf16", Format::kInt4, Format::kBf16},
    {"nvfp4", "fp4", Format::kNvfp4, Format::kNvfp4},
    {"mxfp4", "mxfp8", Format::kMxfp4, Format::kMxfp8},
    {"mxfp4", "bf16", Format::kMxfp4, Format::kBf16},
    // AITER's.
    {"fp4", "fp4", Format::kMxfp4, Format::kMxfp4},
    {"fp4", "fp8", Format::kMxfp4, Format::kFp8E4m3},
    {"fp4", "bf16", Format::kMxfp4, Format::kBf16},
};

const NamedFormat* FormatsOf(const Table& table) {
  for (const NamedFormat& named : kFormats) {
    if (table.text("dtype_weight") == named.weights &&
        table.text("dtype_act") == named.input) {
      return &named;
    }
  }
  return nullptr;
}

// Families of kernels by a word of the names that sources give them.
std::string KernelClass(absl::string_view kernel) {
  constexpr std::pair<const char*, const char*> kClasses[] = {
      {"min_latency", "min latency"}, {"mxfp4_flashinfer", "trtllm-gen mxfp4"},
      {"triton", "triton"},           {"marlin", "marlin"},
      {"cutedsl", "cutedsl"},         {"trtllm", "trtllm-gen"},
      {"cutlass", "cutlass"},         {"nongated", "cutlass"}};
  for (const auto& [word, name] : kClasses) {
    if (absl::StrContains(kernel, word)) return name;
  }
  return std::string(kernel);
}

// Squared ReLU in place of a gate: the widths of the models that have it.
// SGLang's Triton kernels multiply a gate all the same, as 0.5.10 does
// throughout, vLLM 0.14 and TensorRT-LLM's rows that do not say "nongated".
bool IsUngated(const Table& table) {
  if (absl::EndsWith(table.text("scope"), "_ungated")) return true;
  const std::string& kernel = table.text("kernel");
  if (absl::StrContains(kernel, "nongated")) return true;
  const bool widths =
      (table.count("topk") == 22 && table.count("num_experts") == 512) ||
      (table.count("hidden") == 2688 && table.count("inter") == 1856);
  if (!widths) return false;
  const std::string& version = table.text("framework_version");
  if (table.text("framework") == "vLLM") return version == "0.24.0";
  return table.text("framework") == "SGLang" && version == "0.5.14" &&
         !absl::StrContains(kernel, "triton");
}

// The program that timed SGLang 0.5.10 ran the tokens of one rank's experts,
bool HasTokensOfOneRank(const Table& table) {
  return table.text("framework") == "SGLang" &&
         table.text("framework_version") == "0.5.10";
}
// and gave the ids of other ranks' experts to the rank's first one, whose rows
// Triton's and Marlin's kernels multiply. So does TensorRT-LLM's block-scaled
// Triton kernel with the rows of all tokens: its time does not fall with the
// number of ranks.
bool MultipliesForeignRows(const Table& table) {
  const std::string& kernel = table.text("kernel");
  const bool given =
      HasTokensOfOneRank(table) &&
      (kernel == "sglang_marlin_moe" || kernel == "sglang_fused_moe_triton");
  return table.count("moe_ep") > 1 &&
         (given || kernel == "moe_torch_flow_triton_fp8_block");
}

// DeepSeek-V3's router lets a token reach 4 of 8 groups of experts: half of
// what an even choice names.
bool IsGroupLimited(const Table& table) {
  return table.text("framework") == "vLLM" &&
         table.text("framework_version") == "0.24.0" &&
         table.text("distribution") == "balanced" &&
         table.count("hidden") == 7168 && table.count("inter") == 2048 &&
         table.count("num_experts") == 256;
}

// Loads by what decides them: many rows of a table have the same.
class Loads {
 public:
  const ExpertLoad& For(const ExpertLayer& layer, const std::string& spread) {
    const Key key{layer.tokens, layer.experts, layer.per_token, layer.ranks,
                  spread};
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    return known_[key] = Of(layer, spread);
  }

 private:
  using Key = std::tuple<int64_t, int, int, int, std::string>;

  static ExpertLoad Of(const ExpertLayer& layer, const std::string& spread) {
    if (spread == "balanced") return EvenLoad(layer);
    absl::string_view exponent = spread;
    double value = 0;
    if (absl::ConsumePrefix(&exponent, "power_law_") &&
        absl::SimpleAtod(exponent, &value) && value > 0 && value != 1) {
      return PowerLawLoad(layer, value);
    }
    return RandomLoad(layer);
  }

  std::map<Key, ExpertLoad> known_;
};

// False where the row is not one.
bool ReadShape(const Table& table, Layer& layer) {
  const int64_t tensor_ranks = table.count("moe_tp");
  layer.experts = {table.count("num_tokens"),
                   static_cast<int>(table.count("num_experts")),
                   static_cast<int>(table.count("topk")),
                   static_cast<int>(table.count("moe_ep"))};
  layer.hidden = table.count("hidden");
  const int64_t inter = table.count("inter");
  if (std::min({layer.experts.tokens, layer.hidden, inter, tensor_ranks}) <=
          0 ||
      std::min({layer.experts.experts, layer.experts.per_token,
                layer.experts.ranks}) <= 0 ||
      layer.experts.per_token > layer.experts.experts ||
      layer.experts.experts % layer.experts.ranks != 0 ||
      inter % tensor_ranks != 0 || !(table.number("latency_us") > 0)) {
    return false;
  }
  layer.inter = inter / tensor_ranks;
  const std::string& scope = table.text("scope");
  if (absl::StartsWith(scope, "grouped_gemm_up")) {
    layer.scope = Scope::kUp;
  } else if (absl::StartsWith(scope, "grouped_gemm_down")) {
    layer.scope = Scope::kDown;
  }
  layer.gated = !IsUngated(table);
  layer.even = table.text("distribution") == "balanced";
  return true;
}

Op Gemm(const Layer& layer, Format compute, Part part) {
  const bool up = part == Part::kExpertUp;
  const double rows = layer.load.rows;
  GroupedGemmShape shape;
  shape.rows = rows;
  shape.distinct_experts = layer.load.experts;
  shape.experts = layer.experts.experts / layer.experts.ranks;
  shape.n = up ? (layer.gated ? 2 : 1) * layer.inter : layer.hidden;
  shape.k = up ? layer.hidden : layer.inter;
  shape.input = layer.input;
  shape.weights = layer.weights;
  shape.compute = compute;
  shape.even = layer.even;
  Op op = model::GroupedGemmOp(shape,
                               up ? std::min(rows, layer.load.tokens) : rows);
  op.part = part;
  return op;
}

OpList LayerOps(const Layer& layer, Format compute, double foreign_share) {
  const double foreign =
      static_cast<double>(layer.experts.tokens) * layer.experts.per_token -
      layer.load.rows;
  const double rows = layer.load.rows + foreign_share * std::max(0.0, foreign);
  const auto whole = [](double count) {
    return static_cast<int64_t>(std::ceil(count));
  };
  model::ElementwiseShape shape{whole(rows), layer.inter, Format::kBf16};
  shape.experts = layer.weights;
  OpList ops;
  const auto add = [&](Op op, Part part) {
    op.part = part;
    ops.push_back(std::move(op));
  };
  ops.push_back(Gemm(layer, compute, Part::kExpertUp));
  add(model::ActivationOp(shape, layer.gated), Part::kExpertActivation);
  if (model::IsLowPrecision(layer.input)) {
    add(model::QuantizeOp(shape, layer.input), Part::kExpertDownQuantize);
  }
  ops.push_back(Gemm(layer, compute, Part::kExpertDown));
  shape.rows = layer.experts.tokens;
  shape.columns = layer.hidden;
  add(model::CombineOp(shape, 1), Part::kCombine);
  // Of each token's outputs, those that are here.
  ops.back().work.activations_in = model::ElementBytes(
      shape.format, rows * static_cast<double>(layer.hidden));
  return ops;
}

OpList OpsOf(const Layer& layer, Format compute, double foreign_share) {
  switch (layer.scope) {
    case Scope::kLayer:
      return LayerOps(layer, compute, foreign_share);
    case Scope::kUp:
      return {Gemm(layer, compute, Part::kExpertUp)};
    case Scope::kDown:
      return {Gemm(layer, compute, Part::kExpertDown)};
  }
  return {};
}

std::string SliceOf(const NamedFormat& formats) {
  const auto name = [](Format format) {
    return std::string(model::TraitsOf(format).name);
  };
  if (formats.input_format == formats.weight_format) {
    return name(formats.weight_format);
  }
  return absl::StrCat(name(formats.input_format), " x ",
                      name(formats.weight_format));
}

// What makes the row's work another than its columns say.
void Reinterpret(const Table& table, Layer& layer, MeasuredCase& measured) {
  if (IsGroupLimited(table) && measured.flag.empty()) {
    measured.flag = "group_limited_routing";
  }
  if (HasTokensOfOneRank(table)) {
    layer.experts.tokens =
        std::max<int64_t>(1, std::llround(layer.load.tokens));
  }
  if (MultipliesForeignRows(table)) {
    layer.load.rows =
        static_cast<double>(layer.experts.tokens) * layer.experts.per_token;
    layer.even = false;
  }
}

MeasuredCase CaseOf(const Table& table, Layer layer,
                    const NamedFormat& formats) {
  MeasuredCase measured = table.CommonCase();
  measured.side =
      SideOf({layer.experts.tokens, layer.hidden, table.count("inter"),
              layer.experts.per_token, layer.experts.experts,
              table.count("moe_tp"), layer.experts.ranks});
  measured.slice = SliceOf(formats);
  measured.warm_cache = IsRepeated(measured.source);
  measured.shape =
      absl::StrCat("tokens=", layer.experts.tokens, " hidden=", layer.hidden,
                   " inter=", table.text("inter"),
                   " k=", layer.experts.per_token, "/", layer.experts.experts,
                   " tp=", table.text("moe_tp"), " ep=", layer.experts.ranks,
                   " ", table.text("distribution"), " ", table.text("scope"));
  layer.input = formats.input_format;
  layer.weights = formats.weight_format;
  Reinterpret(table, layer, measured);
  measured.size = layer.load.rows;
  measured.ops = [layer](
                     const model::Device& device,
                     const model::KernelStack& stack) -> std::optional<OpList> {
    const auto compute = device.ComputeFor(layer.weights, layer.input);
    if (!compute) return std::nullopt;
    return OpsOf(layer, compute->format,
                 stack.spec().fusion.foreign_expert_rows);
  };
  return measured;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredCase>> ReadMoeCases(absl::string_view csv) {
  ASSIGN_OR_RETURN(
      Table table,
      Table::Open(
          csv, {"device", "dtype_act", "dtype_weight", "scope", "num_tokens",
                "hidden", "inter", "topk", "num_experts", "moe_tp", "moe_ep",
                "distribution", "latency_us", "framework", "framework_version",
                "kernel", "flag", "source"}));
  Loads loads;
  std::vector<MeasuredCase> cases;
  std::vector<std::string> kernels;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, table.Next());
    if (!more) break;
    Layer layer;
    const NamedFormat* formats = FormatsOf(table);
    if (formats == nullptr || !ReadShape(table, layer)) continue;
    layer.load = loads.For(layer.experts, table.text("distribution"));
    if (!(layer.load.rows > 0)) continue;
    cases.push_back(CaseOf(table, layer, *formats));
    kernels.push_back(KernelClass(table.text("kernel")));
  }
  SliceByKernel(kernels, cases);
  return cases;
}

}  // namespace mansard::calibrate
