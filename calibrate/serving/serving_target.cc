#include "calibrate/serving/serving_target.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/serving/served_stack.h"
#include "calibrate/tables/names.h"
#include "model/base/violations.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::LinearChoice;
using model::LinearClass;

struct NamedGraph {
  const char* table;
  const char* precision;  // "": any.
  const char* id;
};
// Models of one structure are one graph: their weights' values cost nothing.
constexpr NamedGraph kGraphs[] = {
    {"DeepSeek-R1", "", "deepseek-r1"},
    {"DeepSeek-V3", "", "deepseek-v3"},
    {"Llama-3.1-70B", "fp8", "llama-3.1-70b-fp8"},
    {"Llama-3.1-70B", "", "llama-3.1-70b"},
    {"Llama-3.3-70B", "fp8", "llama-3.1-70b-fp8"},
    {"Llama-3.3-70B", "", "llama-3.1-70b"},
    {"Meta-Llama-3-70B", "", "llama-3-70b"},
    {"Llama-3.1-8B", "", "llama-3.1-8b"},
    {"Meta-Llama-3-8B", "", "llama-3.1-8b"},
    {"Llama-3.1-405B", "fp8", "llama-3.1-405b-fp8"},
    {"Llama-3.1-405B", "", "llama-3.1-405b"},
    {"Llama-4-Scout", "", "llama-4-scout"},
    {"Llama-2-7b-hf", "", "llama-2-7b"},
    {"Llama-2-7B", "", "llama-2-7b"},
    {"Llama-2-13b-hf", "", "llama-2-13b"},
    {"Llama-2-70b-hf", "", "llama-2-70b"},
    {"Llama-2-70B", "", "llama-2-70b"},
    {"gpt-oss-120b", "", "gpt-oss-120b"},
    {"Qwen3-235B-A22B", "fp8", "qwen3-235b-a22b-fp8"},
    {"Qwen3-235B-A22B", "fp4", "qwen3-235b-a22b-nvfp4"},
    {"Qwen3-235B-A22B", "", "qwen3-235b-a22b"},
    {"Qwen3-30B-A3B", "", "qwen3-30b-a3b"},
    {"Qwen3-30B-A3B-Instruct-2507", "", "qwen3-30b-a3b"},
    {"Qwen3.5-397B-A17B", "", "qwen3.5-397b-a17b"},
    {"GLM-5", "", "glm-5"},
    {"Mixtral-8x7B", "", "mixtral-8x7b"},
    {"Mixtral-8x7B-v0.1", "", "mixtral-8x7b"},
    {"Qwen2-72B", "", "qwen2-72b"},
    {"GPT-J-6B", "", "gpt-j-6b"},
    {"gpt-j-6b", "", "gpt-j-6b"},
    {"gemma-7b", "", "gemma-7b"},
};

bool HasExperts(const model::ModelGraphSpec& graph) {
  return std::any_of(graph.layer_kinds.begin(), graph.layer_kinds.end(),
                     [](const model::LayerKind& kind) {
                       return std::holds_alternative<model::MixtureOfExperts>(
                           kind.feed_forward);
                     });
}

LinearChoice All(LinearClass linear, Format format) {
  return {linear, format, format};
}

// What the checkpoints of such names keep wide, or narrow apart: NVFP4 of
// DeepSeek and GLM leaves attention in 16 bits, that of other models with
// experts narrows experts alone.
void ChooseFormats(const ServingRow& row, const model::ModelGraphSpec& graph,
                   model::TargetSpec& spec) {
  const bool has_experts = HasExperts(graph);
  if (row.model == "gpt-oss-120b") {
    spec.kv_cache = Format::kFp8E4m3;
    return;
  }
  if (row.precision == "bf16" || row.precision == "fp16") {
    spec.weights = spec.activations = Format::kBf16;
    return;
  }
  if (row.precision == "int8") {
    spec.weights = spec.activations = Format::kInt8;
    return;
  }
  spec.kv_cache = Format::kFp8E4m3;
  if (row.precision == "fp8") {
    const bool blocks = has_experts && row.model != "Mixtral-8x7B";
    spec.weights = spec.activations =
        blocks ? Format::kFp8Block : Format::kFp8E4m3;
    return;
  }
  // NVFP4.
  if (!has_experts) {
    spec.weights = spec.activations = Format::kNvfp4;
    return;
  }
  spec.linears = {All(LinearClass::kExperts, Format::kNvfp4)};
  const bool deep = absl::StartsWith(row.model, "DeepSeek") ||
                    absl::StartsWith(row.model, "GLM");
  if (deep) {
    spec.linears.push_back(All(LinearClass::kFeedForward, Format::kNvfp4));
    spec.linears.push_back(All(LinearClass::kSharedExperts, Format::kNvfp4));
  }
  for (const LinearClass linear :
       {LinearClass::kAttentionInput, LinearClass::kAttentionOutput,
        LinearClass::kRecurrent}) {
    spec.linears.push_back(All(linear, Format::kBf16));
  }
}

model::Parallelism ParallelismOf(const RowLayout& layout, bool has_experts) {
  const auto size = [](int64_t value) {
    return static_cast<int>(std::max<int64_t>(1, value));
  };
  model::Parallelism sizes;
  sizes.tensor = size(layout.tensor);
  sizes.pipeline = size(layout.pipeline);
  sizes.data = size(layout.data);
  if (!has_experts) return sizes;
  sizes.expert = size(layout.expert);
  sizes.moe_tensor = static_cast<int>(layout.moe_tensor);
  // Experts lie on all devices of the attention: where a cell is empty, the
  // others tell.
  if (layout.data == 0 && layout.moe_tensor > 0) {
    const int shared = sizes.expert * sizes.moe_tensor;
    if (shared > sizes.tensor && shared % sizes.tensor == 0) {
      sizes.data = shared / sizes.tensor;
    }
  }
  if (sizes.moe_tensor == 0 ||
      sizes.moe_tensor * sizes.expert != sizes.tensor * sizes.data) {
    sizes.moe_tensor = 0;
  }
  return sizes;
}

std::string KeyOf(const ServingRow& row, const RowLayout& layout) {
  return absl::StrCat(row.device, "|", row.model, "|", row.precision, "|",
                      row.engine, "|", row.version, "|", layout.tensor, "|",
                      layout.pipeline, "|", layout.data, "|", layout.expert,
                      "|", layout.moe_tensor);
}

const RowLayout& LayoutOf(const ServingRow& row, RowPool pool) {
  switch (pool) {
    case RowPool::kAggregated:
      return row.layout;
    case RowPool::kPrefill:
      return row.prefill;
    case RowPool::kDecode:
      return row.decode;
  }
  return row.layout;
}

// What the engines' own defaults were where the runs were made; their tables do
// not say it.
model::ServingLimits LimitsOf(const ServingRow& row) {
  model::ServingLimits limits;
  limits.max_batched_tokens = TokenBudgetOf(row.engine);
  limits.max_sequences = 1024;
  return limits;
}

constexpr double kLeastCacheShare = 0.03;
constexpr model::Bytes kBesideWeights = model::Bytes::Of(4e9);

model::Bytes RoomOf(const model::Target& target, double memory_share) {
  model::Violations none;
  const auto pass = model::ForwardPass::Create(
      {{model::Role::kDecode, target.layout().data(), 1, 0}}, 1, none);
  const model::Bytes weights = EstimatePass(target, *pass).memory.weights;
  const model::Bytes all = target.view().device.HbmCapacity();
  return Max(memory_share * all - weights - kBesideWeights,
             kLeastCacheShare * all);
}

}  // namespace

ServedTarget::ServedTarget(model::Target made, const model::ServingLimits& with,
                           double memory_share,
                           std::shared_ptr<const model::KernelStack> own)
    : own_stack(std::move(own)),
      target(std::move(made)),
      limits(with),
      room_(RoomOf(target, memory_share)),
      cache_(target.graph(), target.layout(), 0, target.formats(), nullptr) {}

double ServedTarget::RequestsThatFit(int64_t context) const {
  const model::Bytes each =
      cache_.OfRequest({model::Role::kDecode, 1, 1, context - 1}).total();
  return std::max(1.0, std::floor(room_ / each)) *
         static_cast<double>(target.layout().data());
}

absl::string_view GraphId(absl::string_view model,
                          absl::string_view precision) {
  for (const NamedGraph& named : kGraphs) {
    if (model == named.table &&
        (named.precision[0] == '\0' || precision == named.precision)) {
      return named.id;
    }
  }
  return "";
}

const MaybeTarget& ServingTargets::TargetOf(const ServingRow& row,
                                            RowPool pool) {
  std::string key = KeyOf(row, LayoutOf(row, pool));
  const auto found = targets_.find(key);
  if (found != targets_.end()) return found->second;
  return targets_.emplace(std::move(key), Make(row, pool)).first->second;
}

const model::KernelStack* ServingTargets::StackOf(
    const ServingRow& row, const model::HardwareProfile& profile,
    std::shared_ptr<const model::KernelStack>& own) const {
  if (!options_.stack.empty()) return profile.FindStack(options_.stack);
  const std::string served = ServedStackId(row.engine);
  if (options_.fitted && !served.empty()) {
    if (const auto* stack = profile.FindStack(served)) return stack;
  }
  // Of frameworks that are no engine, the kernels are vLLM's.
  std::optional<model::KernelStack> made =
      UnfittedServedStack(profile, served.empty() ? "vLLM" : row.engine);
  if (!made.has_value()) return nullptr;
  own = std::make_shared<const model::KernelStack>(*std::move(made));
  return own.get();
}

MaybeTarget ServingTargets::Make(const ServingRow& row, RowPool pool) const {
  const auto graph =
      data_->graphs.find(std::string(GraphId(row.model, row.precision)));
  if (graph == data_->graphs.end()) {
    return NoTarget{"model not in the catalog"};
  }
  const auto profile =
      data_->profiles.find(std::string(HardwareId(row.device)));
  if (profile == data_->profiles.end()) {
    return NoTarget{"device not in the catalog"};
  }
  model::TargetSpec spec;
  spec.graph = graph->second;
  spec.hardware = profile->second;
  spec.fabric = &profile->second->fabrics().front();
  spec.engine_version = row.version;
  std::shared_ptr<const model::KernelStack> own;
  spec.stack = StackOf(row, *profile->second, own);
  if (spec.stack == nullptr) return NoTarget{"no such stack"};
  const bool has_experts = HasExperts(graph->second->spec());
  spec.parallelism = ParallelismOf(LayoutOf(row, pool), has_experts);
  ChooseFormats(row, graph->second->spec(), spec);
  model::Violations violations;
  absl::StatusOr<model::Target> target =
      model::Target::Create(spec, violations);
  if (!target.ok()) {
    return NoTarget{violations.all().empty()
                        ? std::string(target.status().message())
                        : absl::StrCat(violations.all().front().field, " ",
                                       violations.all().front().description)};
  }
  auto served =
      std::make_shared<ServedTarget>(*std::move(target), LimitsOf(row),
                                     MemoryShareOf(row.engine), std::move(own));
  served->has_experts = has_experts;
  served->weight_bits =
      CostCaseOf(served->target.graph(), served->target.formats(), "")
          .weight_bits;
  served->architecture = profile->second->device().spec().architecture;
  return std::shared_ptr<const ServedTarget>(std::move(served));
}

}  // namespace mansard::calibrate
