// Flags of vLLM 0.24. Its limits are of one data rank; an Engine's are of all.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/import/mapping.h"

namespace mansard::importing {
namespace {

constexpr double kMemoryUtilization = 0.92;
// Of a server: devices with this much memory, but for A100s, get the larger
// defaults.
constexpr double kLargeMemoryBytes = 70.0 * 1024 * 1024 * 1024;
struct BatchDefaults {
  int32_t tokens;
  int32_t sequences;
};
constexpr BatchDefaults kLarge = {8192, 1024};
constexpr BatchDefaults kSmall = {2048, 256};

std::string OfRanks(int64_t each, int64_t ranks) {
  return ranks == 1
             ? ""
             : absl::StrCat(", ", each, " on each of ", ranks, " data ranks");
}

// The sizes; answers the data ranks.
int64_t MapLayout(Mapping& mapping) {
  const auto take = [&mapping](absl::string_view flag, const char* becomes,
                               const char* field) {
    const int64_t size = mapping.Count(flag).value_or(1);
    mapping.Became(flag, absl::StrCat(becomes, " ", size),
                   absl::StrCat("target.parallelism.", field));
    return Clamped(size);
  };
  v1::Parallelism& sizes = mapping.parallelism();
  sizes.set_tensor_size(take("tensor-parallel-size", "--tp", "tensor_size"));
  sizes.set_pipeline_size(
      take("pipeline-parallel-size", "--pp", "pipeline_size"));
  sizes.set_data_size(take("data-parallel-size", "--dp", "data_size"));
  sizes.set_context_size(
      take("prefill-context-parallel-size", "--cp", "context_size"));
  const int64_t data = sizes.data_size();
  if (mapping.Switch("enable-expert-parallel").value_or(false)) {
    if (mapping.model().has_experts) {
      const int64_t ranks = data * sizes.tensor_size();
      sizes.set_expert_size(Clamped(ranks));
      mapping.Became("enable-expert-parallel", absl::StrCat("--ep ", ranks),
                     "target.parallelism.expert_size");
    } else {
      mapping.Without("enable-expert-parallel", Fate::kNoEffect,
                      "the model has no experts");
    }
  }
  return data;
}

void MapNodes(Mapping& mapping, int64_t data) {
  const auto local = mapping.Count("data-parallel-size-local", 0);
  const auto nodes = mapping.Count("nnodes");
  if (nodes.has_value()) {
    mapping.parallelism().set_node_count(Clamped(*nodes));
    mapping.Became("nnodes", absl::StrCat("--nodes ", *nodes),
                   "target.parallelism.node_count");
  }
  if (!local.has_value() || *local == 0) return;
  if (data % *local != 0) {
    mapping.Error(absl::StrCat(mapping.Typed("data-parallel-size-local"),
                               ": allowed: a size that divides ", data,
                               ", the data ranks"));
    return;
  }
  const int64_t needed = data / *local;
  if (nodes.has_value() && *nodes != needed) {
    mapping.Error(absl::StrCat(mapping.Typed("nnodes"), " stands beside ",
                               mapping.Typed("data-parallel-size-local"),
                               ", which makes ", needed,
                               "; allowed: sizes that agree"));
    return;
  }
  mapping.parallelism().set_node_count(Clamped(needed));
  mapping.Became("data-parallel-size-local", absl::StrCat("--nodes ", needed),
                 "target.parallelism.node_count");
}

void MapBatch(Mapping& mapping, int64_t data) {
  const bool large = mapping.device().memory_bytes >= kLargeMemoryBytes &&
                     !absl::StrContains(mapping.device().id, "a100");
  const BatchDefaults& defaults = large ? kLarge : kSmall;
  const auto take = [&](absl::string_view flag, int64_t otherwise,
                        const char* becomes, const char* field) {
    const auto given = mapping.Count(flag);
    const int64_t each = given.value_or(otherwise);
    const std::string text =
        absl::StrCat(becomes, " ", each * data, OfRanks(each, data));
    if (given.has_value()) {
      mapping.Became(flag, text, absl::StrCat("limits.", field));
    } else {
      mapping.Assumed(absl::StrCat("--", flag), absl::StrCat(each), text);
    }
    return Clamped(each * data);
  };
  v1::EngineLimits& limits = mapping.limits();
  limits.set_max_batched_token_count(
      take("max-num-batched-tokens", defaults.tokens, "--max-batched-tokens",
           "max_batched_token_count"));
  limits.set_max_sequence_count(take("max-num-seqs", defaults.sequences,
                                     "--max-sequences", "max_sequence_count"));
}

void MapMemory(Mapping& mapping, int64_t data) {
  v1::EngineLimits& limits = mapping.limits();
  const auto share = mapping.Ratio("gpu-memory-utilization");
  const double ratio = share.value_or(kMemoryUtilization);
  limits.set_memory_utilization_ratio(ratio);
  const std::string becomes = absl::StrCat("--memory-utilization ", ratio);
  if (share.has_value()) {
    mapping.Became("gpu-memory-utilization", becomes,
                   "limits.memory_utilization_ratio");
  } else {
    mapping.Assumed("--gpu-memory-utilization", absl::StrCat(ratio), becomes);
  }
  const auto block = mapping.Count("block-size");
  if (block.has_value()) {
    limits.set_kv_block_token_count(Clamped(*block));
    mapping.Became("block-size", absl::StrCat("--kv-block-tokens ", *block),
                   "limits.kv_block_token_count");
  }
  const auto blocks = mapping.Count("num-gpu-blocks-override");
  if (!blocks.has_value()) return;
  constexpr int64_t kBlockTokens = 16;
  const int64_t tokens = *blocks * block.value_or(kBlockTokens) * data;
  limits.set_kv_token_capacity_count(tokens);
  mapping.Became("num-gpu-blocks-override",
                 absl::StrCat("--kv-tokens ", tokens),
                 "limits.kv_token_capacity_count");
}

void MapGraphs(Mapping& mapping) {
  v1::Target& target = *mapping.engine().mutable_target();
  bool eager = mapping.Switch("enforce-eager").value_or(false);
  if (eager) mapping.Became("enforce-eager", "--eager");
  for (const char* name : {"compilation-config.cudagraph-mode",
                           "compilation-config", "optimization-level"}) {
    const auto word = mapping.Word(name);
    if (!word.has_value()) continue;
    if (*word == "NONE" || *word == "0" || *word == "none") {
      eager = true;
      mapping.Became(name, "--eager");
    } else {
      mapping.Without(name, Fate::kNotModeled,
                      "as the stack was measured: with compiled graphs");
    }
  }
  if (eager) target.set_cuda_graphs(false);
  if (mapping.Switch("enable-dbo").value_or(false)) {
    target.mutable_overlap()->set_kind("two-batch");
    mapping.Became("enable-dbo", "--overlap two-batch", "target.overlap.kind");
  }
}

void MapRole(Mapping& mapping) {
  const auto role = mapping.OneOf(
      "kv-transfer-config.kv-role",
      {{"kv_producer", "prefill"}, {"kv_consumer", "decode"}, {"kv_both", ""}});
  if (!role.has_value() || role->empty()) return;
  mapping.engine().set_role(*role == "prefill" ? v1::Engine::ROLE_PREFILL
                                               : v1::Engine::ROLE_DECODE);
  mapping.Became("kv-transfer-config.kv-role", absl::StrCat("--role ", *role),
                 "role");
}

}  // namespace

void MapVllm(Mapping& mapping) {
  const int64_t data = MapLayout(mapping);
  MapNodes(mapping, data);
  MapBatch(mapping, data);
  MapMemory(mapping, data);
  mapping.TakeQuantization("quantization");
  mapping.TakeKvFormat("kv-cache-dtype");
  mapping.TakeDtype("dtype");
  mapping.TakeState("mamba-ssm-cache-dtype");
  MapGraphs(mapping);
  MapRole(mapping);
  mapping.engine().set_scheduling(v1::Engine::SCHEDULING_MIXED);
}

}  // namespace mansard::importing
