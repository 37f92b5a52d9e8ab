// Flags of SGLang 0.5.14. With --enable-dp-attention its sizes count all ranks,
// and --chunked-prefill-size and --max-running-requests are of all data ranks
// together; without it data ranks are copies of the server, of which an Engine
// is one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/import/mapping.h"

namespace mansard::importing {
namespace {

// Where it does not know the device.
constexpr double kMemoryFraction = 0.88;
// The least that it sets by the room for tokens; of a data rank.
constexpr int64_t kRunningRequests = 2048;
constexpr int64_t kPrefillTokens = 16384;

// By the memory of a device, in GiB.
int64_t DefaultChunk(double memory_bytes) {
  const double size = memory_bytes / (1024.0 * 1024 * 1024);
  if (size < 35) return 2048;
  if (size < 60) return 4096;
  return size < 160 ? 8192 : 16384;
}

struct Ranks {
  int64_t data = 1;    // Of the engine.
  int64_t copies = 1;  // Of the server.
  int64_t tensor = 1;  // As the flag says: all ranks of a stage.
  int64_t stages = 1;
};

// The largest batch of its CUDA graphs.
int64_t DefaultGraphBatch(double memory_gib, int64_t tensor) {
  if (memory_gib < 20) return 8;
  if (memory_gib < 35) return tensor < 4 ? 24 : 80;
  if (memory_gib < 60) return tensor < 4 ? 32 : 160;
  return memory_gib < 160 && tensor < 4 ? 256 : 512;
}

// The share that it gives to weights and cache: all but what it reserves for
// activations, graphs and collectives.
double DefaultFraction(Mapping& mapping, const Ranks& ranks, int64_t chunk) {
  const double memory = mapping.device().memory_bytes / (1024.0 * 1024);
  if (memory <= 0) return kMemoryFraction;
  const auto graph = static_cast<double>(
      mapping.Count("cuda-graph-max-bs")
          .value_or(DefaultGraphBatch(memory / 1024, ranks.tensor)));
  double reserved =
      512 + 1.5 * static_cast<double>(std::max<int64_t>(chunk, 2048)) +
      2 * graph + 128 * static_cast<double>(ranks.tensor * ranks.stages);
  if (ranks.data > 1) {
    reserved +=
        graph * static_cast<double>(ranks.data) * (graph > 300 ? 4.5 : 3);
  }
  if (memory > 60 * 1024) reserved = std::max(reserved, 10.0 * 1024);
  const std::string drafts =
      mapping.Word("speculative-algorithm").value_or("NGRAM");
  if (drafts != "NGRAM" && drafts != "null") {
    reserved += drafts == "STANDALONE" ? 6 * 1024 : 2 * 1024;
  }
  return std::max(0.001,
                  std::round(1000 * (memory - reserved) / memory) / 1000);
}

// All flags that say a size, with what they are worth.
struct Sizes {
  int64_t tensor;
  int64_t data;
  int64_t expert;
  int64_t context;
};

bool SizesAgree(Mapping& mapping, const Sizes& sizes, bool attention) {
  if (attention && sizes.tensor % (sizes.data * sizes.context) != 0) {
    mapping.Error(absl::StrCat(mapping.Typed("dp-size"),
                               " with --enable-dp-attention: allowed: a size "
                               "that divides ",
                               sizes.tensor, ", the tensor ranks"));
    return false;
  }
  if (!attention && sizes.tensor % sizes.context != 0) {
    mapping.Error(absl::StrCat(mapping.Typed("attn-cp-size"),
                               ": allowed: a size that divides ", sizes.tensor,
                               ", the tensor ranks"));
    return false;
  }
  if (sizes.expert > 0 && sizes.tensor % sizes.expert != 0) {
    mapping.Error(absl::StrCat(mapping.Typed("ep-size"),
                               ": allowed: a size that divides ", sizes.tensor,
                               ", the tensor ranks"));
    return false;
  }
  return true;
}

void MapExperts(Mapping& mapping, int64_t tensor, int64_t expert) {
  const std::string a2a = mapping.Word("moe-a2a-backend").value_or("none");
  // Backends that send tokens have whole experts on every rank.
  const bool whole = a2a != "none" && a2a != "null";
  const int64_t size = whole ? tensor : expert;
  if (!mapping.model().has_experts) {
    for (const char* name : {"ep-size", "moe-a2a-backend"}) {
      mapping.Without(name, Fate::kNoEffect, "the model has no experts");
    }
    return;
  }
  if (size > 0) mapping.parallelism().set_expert_size(Clamped(size));
  const std::string becomes = absl::StrCat("--ep ", size);
  mapping.Became(
      "ep-size",
      whole && expert != tensor
          ? absl::StrCat(becomes, ", by ", mapping.Typed("moe-a2a-backend"))
          : becomes,
      "target.parallelism.expert_size");
  if (whole) {
    mapping.Became("moe-a2a-backend", becomes,
                   "target.parallelism.expert_size");
  }
}

Ranks MapLayout(Mapping& mapping) {
  const Sizes sizes = {mapping.Count("tp-size").value_or(1),
                       mapping.Count("dp-size").value_or(1),
                       mapping.Count("ep-size").value_or(0),
                       mapping.Count("attn-cp-size").value_or(1)};
  // With one data rank it is off.
  const bool attention =
      mapping.Switch("enable-dp-attention").value_or(false) && sizes.data > 1;
  if (!SizesAgree(mapping, sizes, attention)) return {};
  Ranks ranks;
  (attention ? ranks.data : ranks.copies) = sizes.data;
  ranks.tensor = sizes.tensor;
  v1::Parallelism& layout = mapping.parallelism();
  const int64_t tensor = sizes.tensor / (ranks.data * sizes.context);
  layout.set_tensor_size(Clamped(tensor));
  layout.set_data_size(Clamped(ranks.data));
  layout.set_context_size(Clamped(sizes.context));
  const int64_t stages = mapping.Count("pp-size").value_or(1);
  layout.set_pipeline_size(Clamped(stages));
  ranks.stages = stages;
  mapping.Became(
      "tp-size",
      absl::StrCat("--tp ", tensor,
                   tensor == sizes.tensor
                       ? ""
                       : absl::StrCat(": ", sizes.tensor, " ranks in all")),
      "target.parallelism.tensor_size");
  mapping.Became("dp-size",
                 attention ? absl::StrCat("--dp ", ranks.data)
                           : absl::StrCat("this engine is one of ",
                                          ranks.copies, " copies"),
                 "target.parallelism.data_size");
  if (attention) {
    mapping.Became("enable-dp-attention",
                   "ranks of --tp are shared by --dp and --tp");
  }
  mapping.Became("attn-cp-size", absl::StrCat("--cp ", sizes.context),
                 "target.parallelism.context_size");
  mapping.Became("pp-size", absl::StrCat("--pp ", stages),
                 "target.parallelism.pipeline_size");
  const auto nodes = mapping.Count("nnodes");
  if (nodes.has_value()) {
    layout.set_node_count(Clamped(*nodes));
    mapping.Became("nnodes", absl::StrCat("--nodes ", *nodes),
                   "target.parallelism.node_count");
  }
  MapExperts(mapping, sizes.tensor, sizes.expert);
  return ranks;
}

// Answers the size of a chunk.
int64_t MapBudget(Mapping& mapping) {
  const auto chunk = mapping.Count("chunked-prefill-size", -1);
  const auto most = mapping.Count("max-prefill-tokens");
  const int64_t by_default = DefaultChunk(mapping.device().memory_bytes);
  int64_t tokens = chunk.value_or(by_default);
  if (tokens <= 0) tokens = most.value_or(kPrefillTokens);
  tokens = std::min(tokens, most.value_or(kPrefillTokens));
  mapping.limits().set_max_batched_token_count(Clamped(tokens));
  const std::string becomes = absl::StrCat("--max-batched-tokens ", tokens);
  const char* field = "limits.max_batched_token_count";
  mapping.Became("chunked-prefill-size", becomes, field);
  if (tokens == most) {
    mapping.Became("max-prefill-tokens", becomes, field);
  } else {
    mapping.Without("max-prefill-tokens", Fate::kNoEffect,
                    "chunks are smaller");
  }
  if (!chunk.has_value()) {
    mapping.Assumed("--chunked-prefill-size", absl::StrCat(by_default),
                    becomes);
  }
  return chunk.value_or(by_default) > 0 ? chunk.value_or(by_default) : tokens;
}

void MapRoom(Mapping& mapping, const Ranks& ranks, int64_t chunk) {
  v1::EngineLimits& limits = mapping.limits();
  const auto running = mapping.Count("max-running-requests");
  const int64_t sequences = running.has_value()
                                ? std::max<int64_t>(1, *running / ranks.copies)
                                : kRunningRequests * ranks.data;
  limits.set_max_sequence_count(Clamped(sequences));
  const std::string becomes = absl::StrCat("--max-sequences ", sequences);
  if (running.has_value()) {
    mapping.Became(
        "max-running-requests",
        ranks.copies > 1 ? absl::StrCat(becomes, ", of this copy") : becomes,
        "limits.max_sequence_count");
  } else {
    mapping.Assumed("--max-running-requests", "by its room for tokens",
                    becomes);
  }
  const auto share = mapping.Ratio("mem-fraction-static");
  const double ratio = share.value_or(DefaultFraction(mapping, ranks, chunk));
  limits.set_memory_utilization_ratio(ratio);
  const std::string memory = absl::StrCat("--memory-utilization ", ratio);
  if (share.has_value()) {
    mapping.Became("mem-fraction-static", memory,
                   "limits.memory_utilization_ratio");
  } else {
    mapping.Assumed("--mem-fraction-static", "by the device", memory);
  }
  const auto total = mapping.Count("max-total-tokens");
  if (total.has_value()) {
    limits.set_kv_token_capacity_count(*total * ranks.data);
    mapping.Became("max-total-tokens",
                   absl::StrCat("--kv-tokens ", *total * ranks.data),
                   "limits.kv_token_capacity_count");
  }
  const auto page = mapping.Count("page-size");
  limits.set_kv_block_token_count(Clamped(page.value_or(1)));
  const std::string block =
      absl::StrCat("--kv-block-tokens ", page.value_or(1));
  if (page.has_value()) {
    mapping.Became("page-size", block, "limits.kv_block_token_count");
  } else {
    mapping.Assumed("--page-size", "1", block);
  }
}

void MapPasses(Mapping& mapping) {
  v1::Target& target = *mapping.engine().mutable_target();
  const bool mixed = mapping.Switch("enable-mixed-chunk").value_or(false);
  mapping.engine().set_scheduling(mixed ? v1::Engine::SCHEDULING_MIXED
                                        : v1::Engine::SCHEDULING_PREFILL_FIRST);
  if (mixed) {
    mapping.Became("enable-mixed-chunk", "--scheduling mixed", "scheduling");
  } else {
    mapping.Assumed("--enable-mixed-chunk", "off",
                    "--scheduling prefill-first");
  }
  const auto polls = mapping.Count("scheduler-recv-interval");
  if (polls.has_value()) {
    mapping.engine().mutable_admission()->set_poll_pass_count(Clamped(*polls));
    mapping.Became("scheduler-recv-interval",
                   absl::StrCat("--poll-passes ", *polls),
                   "admission.poll_pass_count");
  }
  bool eager = mapping.Switch("disable-cuda-graph").value_or(false);
  if (eager) mapping.Became("disable-cuda-graph", "--eager");
  const auto backend = mapping.Word("cuda-graph-backend-decode");
  if (backend == "disabled") {
    eager = true;
    mapping.Became("cuda-graph-backend-decode", "--eager");
  }
  if (eager) target.set_cuda_graphs(false);
  if (mapping.Switch("enable-two-batch-overlap").value_or(false)) {
    target.mutable_overlap()->set_kind("two-batch");
    mapping.Became("enable-two-batch-overlap", "--overlap two-batch",
                   "target.overlap.kind");
  }
  const auto role = mapping.OneOf(
      "disaggregation-mode",
      {{"null", ""}, {"prefill", "prefill"}, {"decode", "decode"}});
  if (!role.has_value() || role->empty()) return;
  mapping.engine().set_role(*role == "prefill" ? v1::Engine::ROLE_PREFILL
                                               : v1::Engine::ROLE_DECODE);
  mapping.Became("disaggregation-mode", absl::StrCat("--role ", *role), "role");
}

}  // namespace

void MapSglang(Mapping& mapping) {
  const Ranks ranks = MapLayout(mapping);
  MapRoom(mapping, ranks, MapBudget(mapping));
  mapping.TakeQuantization("quantization");
  mapping.TakeKvFormat("kv-cache-dtype");
  mapping.TakeDtype("dtype");
  mapping.TakeState("mamba-ssm-dtype");
  MapPasses(mapping);
}

}  // namespace mansard::importing
