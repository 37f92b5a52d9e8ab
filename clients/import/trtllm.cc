// Flags of trtllm-serve 1.3 and keys of its options file. With attention data
// parallelism every rank is a data rank, and limits are of each.
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "clients/import/mapping.h"

namespace mansard::importing {
namespace {

constexpr int64_t kBatchSize = 2048;
constexpr int64_t kNumTokens = 8192;
constexpr int64_t kTokensPerBlock = 32;
constexpr double kFreeFraction = 0.9;

void MapExperts(Mapping& mapping, int64_t ranks) {
  const auto expert = mapping.Count("ep-size");
  const auto tensor = mapping.Count("moe-tensor-parallel-size");
  if (!mapping.model().has_experts) {
    for (const char* name : {"ep-size", "moe-tensor-parallel-size"}) {
      mapping.Without(name, Fate::kNoEffect, "the model has no experts");
    }
    return;
  }
  if (expert.has_value() && tensor.has_value() && *expert * *tensor != ranks) {
    mapping.Error(absl::StrCat(mapping.Typed("ep-size"), " and ",
                               mapping.Typed("moe-tensor-parallel-size"),
                               ": allowed: sizes whose "
                               "product is ",
                               ranks, ", the tensor ranks"));
    return;
  }
  v1::Parallelism& layout = mapping.parallelism();
  layout.set_expert_size(Clamped(expert.value_or(0)));
  layout.set_moe_tensor_size(Clamped(tensor.value_or(0)));
  mapping.Became("ep-size", absl::StrCat("--ep ", expert.value_or(0)),
                 "target.parallelism.expert_size");
  mapping.Became("moe-tensor-parallel-size",
                 absl::StrCat("--moe-tp ", tensor.value_or(0)),
                 "target.parallelism.moe_tensor_size");
}

// Answers the data ranks.
int64_t MapLayout(Mapping& mapping) {
  const int64_t ranks = mapping.Count("tp-size").value_or(1);
  const int64_t stages = mapping.Count("pp-size").value_or(1);
  const int64_t context = mapping.Count("cp-size").value_or(1);
  const bool attention = mapping.Switch("enable-attention-dp").value_or(false);
  v1::Parallelism& layout = mapping.parallelism();
  layout.set_tensor_size(Clamped(attention ? 1 : ranks));
  layout.set_data_size(Clamped(attention ? ranks : 1));
  layout.set_pipeline_size(Clamped(stages));
  layout.set_context_size(Clamped(context));
  mapping.Became("tp-size",
                 attention ? absl::StrCat("--tp 1 --dp ", ranks)
                           : absl::StrCat("--tp ", ranks),
                 attention ? "target.parallelism.data_size"
                           : "target.parallelism.tensor_size");
  if (attention) {
    mapping.Became("enable-attention-dp", absl::StrCat("--dp ", ranks),
                   "target.parallelism.data_size");
  }
  mapping.Became("pp-size", absl::StrCat("--pp ", stages),
                 "target.parallelism.pipeline_size");
  mapping.Became("cp-size", absl::StrCat("--cp ", context),
                 "target.parallelism.context_size");
  const auto per_node = mapping.Count("gpus-per-node");
  if (per_node.has_value()) {
    const int64_t devices = ranks * stages * context;
    const int64_t nodes = (devices + *per_node - 1) / *per_node;
    layout.set_node_count(Clamped(nodes));
    mapping.Became("gpus-per-node", absl::StrCat("--nodes ", nodes),
                   "target.parallelism.node_count");
  }
  MapExperts(mapping, ranks);
  return attention ? ranks : 1;
}

// A limit of each data rank.
int64_t Limit(Mapping& mapping, const char* flag, int64_t by_default,
              int64_t data, const char* becomes, const char* field) {
  const auto given = mapping.Count(flag);
  const int64_t each = given.value_or(by_default);
  std::string text = absl::StrCat(becomes, " ", each * data);
  if (data > 1) {
    absl::StrAppend(&text, ", ", each, " on each of ", data, " data ranks");
  }
  if (given.has_value()) {
    mapping.Became(flag, text, absl::StrCat("limits.", field));
  } else {
    mapping.Assumed(absl::StrReplaceAll(flag, {{"-", "_"}}), absl::StrCat(each),
                    text);
  }
  return each * data;
}

void MapLimits(Mapping& mapping, int64_t data) {
  v1::EngineLimits& limits = mapping.limits();
  limits.set_max_sequence_count(
      Clamped(Limit(mapping, "max-batch-size", kBatchSize, data,
                    "--max-sequences", "max_sequence_count")));
  limits.set_max_batched_token_count(
      Clamped(Limit(mapping, "max-num-tokens", kNumTokens, data,
                    "--max-batched-tokens", "max_batched_token_count")));
  limits.set_kv_block_token_count(Clamped(
      Limit(mapping, "kv-cache-config.tokens-per-block", kTokensPerBlock, 1,
            "--kv-block-tokens", "kv_block_token_count")));
  const char* const flag = "kv-cache-free-gpu-memory-fraction";
  const auto share = mapping.Ratio(flag);
  mapping.free_memory_ratio() = share.value_or(kFreeFraction);
  limits.set_memory_utilization_ratio(1);
  const std::string becomes =
      absl::StrCat("--kv-tokens: ", share.value_or(kFreeFraction),
                   " of those that fit beside the weights");
  if (share.has_value()) {
    mapping.Became(flag, becomes, "limits.kv_token_capacity_count");
  } else {
    mapping.Assumed("kv_cache_free_gpu_memory_fraction",
                    absl::StrCat(kFreeFraction), becomes);
  }
  const auto tokens = mapping.Count("kv-cache-config.max-tokens");
  if (!tokens.has_value()) return;
  limits.set_kv_token_capacity_count(*tokens * data);
  mapping.Became("kv-cache-config.max-tokens",
                 absl::StrCat("--kv-tokens ", *tokens * data, " at most"),
                 "limits.kv_token_capacity_count");
}

// Both are needed: a share of 0, the engine's default, waits for nobody.
void MapAdmission(Mapping& mapping) {
  const char* const wait = "batch-wait-timeout-iters";
  const char* const fill = "batch-wait-max-tokens-ratio";
  const auto passes = mapping.Count(wait, 0);
  const auto share = mapping.Ratio(fill);
  const bool waits = passes.value_or(0) > 0 && share.has_value();
  if (waits) {
    v1::EngineAdmission& admission = *mapping.engine().mutable_admission();
    admission.set_batch_wait_pass_count(Clamped(*passes));
    admission.set_batch_wait_token_ratio(*share);
  }
  const char* const alone = "without the other of the two it holds nobody back";
  if (passes.has_value() && waits) {
    mapping.Became(wait, absl::StrCat("--batch-wait-passes ", *passes),
                   "admission.batch_wait_pass_count");
  } else if (passes.has_value()) {
    mapping.Without(wait, Fate::kNoEffect, alone);
  }
  if (share.has_value() && waits) {
    mapping.Became(fill, absl::StrCat("--batch-wait-tokens ", *share),
                   "admission.batch_wait_token_ratio");
  } else if (share.has_value()) {
    mapping.Without(fill, Fate::kNoEffect, alone);
  }
}

void MapKernels(Mapping& mapping) {
  v1::Target& target = *mapping.engine().mutable_target();
  const auto graphs = mapping.Word("cuda-graph-config");
  if (graphs == "null") {
    target.set_cuda_graphs(false);
    mapping.Became("cuda-graph-config", "--eager");
  }
  const auto algorithm = mapping.Word("allreduce-strategy");
  if (algorithm == "ONESHOT" || algorithm == "TWOSHOT") {
    const std::string name = algorithm == "ONESHOT" ? "one-shot" : "two-shot";
    target.set_all_reduce_algorithm(name);
    mapping.Became("allreduce-strategy", absl::StrCat("--all-reduce ", name),
                   "target.all_reduce_algorithm");
  } else if (algorithm.has_value() && *algorithm != "AUTO") {
    mapping.Without("allreduce-strategy", Fate::kNotModeled,
                    "the stack picks all-reduces by size");
  }
  const auto role = mapping.OneOf(
      "server-role",
      {{"context", "prefill"}, {"generation", "decode"}, {"mm_encoder", ""}});
  if (!role.has_value() || role->empty()) return;
  mapping.engine().set_role(*role == "prefill" ? v1::Engine::ROLE_PREFILL
                                               : v1::Engine::ROLE_DECODE);
  mapping.Became("server-role", absl::StrCat("--role ", *role), "role");
}

}  // namespace

void MapTrtllm(Mapping& mapping) {
  const int64_t data = MapLayout(mapping);
  MapLimits(mapping, data);
  mapping.TakeQuantization("quant-config.quant-algo");
  mapping.TakeKvFormat("kv-cache-config.dtype");
  if (!mapping.Word("kv-cache-config.dtype").has_value()) {
    mapping.TakeKvFormat("quant-config.kv-cache-quant-algo");
  }
  mapping.TakeDtype("dtype");
  mapping.TakeState("kv-cache-config.mamba-ssm-cache-dtype");
  MapKernels(mapping);
  MapAdmission(mapping);
  mapping.engine().set_scheduling(v1::Engine::SCHEDULING_MIXED);
}

}  // namespace mansard::importing
