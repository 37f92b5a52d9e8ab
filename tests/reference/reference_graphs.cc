#include "tests/reference/reference_graphs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::Attention;
using model::FeedForward;
using model::GroupedQueryAttention;
using model::LatentAttention;
using model::LayerKind;
using model::MixtureOfExperts;
using model::Role;

NamedGraph Graph(std::string name, std::vector<LayerKind> kinds,
                 std::vector<int> layers) {
  NamedGraph graph{std::move(name), TinyGraph()};
  graph.spec.vocabulary_size = 13;
  graph.spec.layer_kinds = std::move(kinds);
  graph.spec.layer_kind_indexes = std::move(layers);
  return graph;
}

GroupedQueryAttention Grouped(int kv_heads) {
  return {.query_heads = 4, .kv_heads = kv_heads, .head_size = 3};
}

FeedForward Dense(bool gated, bool bias) {
  return model::DenseFeedForward{
      .intermediate_size = 24, .gated = gated, .bias = bias};
}

LatentAttention Latent(int query_rank) {
  return {.query_heads = 4,
          .kv_lora_rank = 6,
          .query_lora_rank = query_rank,
          .nope_head_size = 3,
          .rope_head_size = 2,
          .value_head_size = 5};
}

MixtureOfExperts Experts(int count, int per_token, int64_t shared, bool gated) {
  return {.expert_count = count,
          .experts_per_token = per_token,
          .expert_intermediate_size = 8,
          .shared_intermediate_size = shared,
          .gated = gated};
}

// For each number of KV heads: plain, and windows with biases and norms.
void AddDense(std::vector<NamedGraph>& graphs) {
  for (int kv_heads : {1, 2, 4}) {
    graphs.push_back(Graph(absl::StrCat("dense, ", kv_heads, " KV heads"),
                           {{"dense", Grouped(kv_heads), Dense(true, false)}},
                           {0, 0}));
    GroupedQueryAttention rich = Grouped(kv_heads);
    rich.head_size = 5;
    rich.qkv_bias = true;
    rich.output_bias = kv_heads == 2;
    rich.qk_norm = model::QkNorm::kPerHead;
    GroupedQueryAttention window = rich;
    window.sliding_window = 3;
    const FeedForward ffn = Dense(kv_heads != 1, true);
    graphs.push_back(Graph(absl::StrCat("window, ", kv_heads, " KV heads"),
                           {{"dense", rich, ffn}, {"window", window, ffn}},
                           {1, 0, 1}));
  }
}

void AddChunked(std::vector<NamedGraph>& graphs) {
  for (int64_t chunk : {1, 3, 4}) {
    GroupedQueryAttention chunked = Grouped(2);
    chunked.chunk = chunk;
    graphs.push_back(Graph(absl::StrCat("chunk ", chunk),
                           {{"chunk", chunked, Dense(true, false)},
                            {"full", Grouped(2), Dense(true, false)}},
                           {0, 1}));
  }
}

void AddParallel(std::vector<NamedGraph>& graphs) {
  graphs.push_back(Graph("parallel",
                         {{.name = "parallel",
                           .attention = Grouped(4),
                           .feed_forward = Dense(false, true),
                           .parallel = true},
                          {.name = "experts",
                           .attention = Grouped(1),
                           .feed_forward = Experts(4, 1, 0, true),
                           .parallel = true}},
                         {0, 1, 0}));
}

void AddExperts(std::vector<NamedGraph>& graphs) {
  graphs.push_back(Graph("first layer dense, then experts",
                         {{"dense", Grouped(2), Dense(true, false)},
                          {"moe", Grouped(2), Experts(4, 2, 12, true)}},
                         {0, 1, 1}));
  graphs.push_back(Graph("plain experts, none shared",
                         {{"moe", Grouped(2), Experts(5, 3, 0, false)}}, {0}));
}

void AddLatent(std::vector<NamedGraph>& graphs) {
  graphs.push_back(
      Graph("latent", {{"latent", Latent(7), Dense(true, false)}}, {0, 0}));
  graphs.push_back(Graph("latent, direct queries",
                         {{"latent", Latent(0), Dense(true, false)}}, {0}));
  graphs.push_back(Graph("latent, experts",
                         {{"dense", Latent(7), Dense(true, false)},
                          {"moe", Latent(7), Experts(4, 2, 8, true)}},
                         {0, 1}));
}

// One a rule; biases and gates otherwise than the toys have them; beside an
// attention; alone.
void AddRecurrent(std::vector<NamedGraph>& graphs) {
  const auto layer = [](const model::RecurrentMixer& mixer) {
    return LayerKind{.name = "recurrent",
                     .feed_forward = Dense(true, false),
                     .recurrent = mixer};
  };
  for (const auto& [name, rule] :
       {std::pair{"decay", model::StateRule::kDecay},
        std::pair{"gated delta", model::StateRule::kGatedDelta},
        std::pair{"key-gated delta", model::StateRule::kKeyGatedDelta},
        std::pair{"mamba", model::StateRule::kMamba},
        std::pair{"mamba 2", model::StateRule::kMamba2}}) {
    model::RecurrentMixer mixer = TinyMixer(rule);
    graphs.push_back(
        Graph(name, {layer(mixer), {"dense", Grouped(2), Dense(true, false)}},
              {0, 1, 0}));
    mixer.projection_bias = true;
    mixer.conv_bias = mixer.conv_kernel != 0 && !mixer.conv_bias;
    mixer.inner_norms = false;
    mixer.gate = model::OutputGate::kNone;
    mixer.gate_rank = 0;
    mixer.output_norm = model::QkNorm::kUnweighted;
    graphs.push_back(
        Graph(absl::StrCat(name, ", biases, no gate"), {layer(mixer)}, {0}));
    graphs.back().spec.native_precision.state = model::Format::kFp32;
  }
  NamedGraph beside{"mamba 2 beside attention", TinySideBySideGraph()};
  beside.spec.layer_kinds[0].recurrent->output_norm = model::QkNorm::kNone;
  beside.spec.layer_kinds[0].recurrent->key_heads = 1;
  graphs.push_back(beside);
  graphs.push_back({"mamba 2 alone", TinyPureMambaGraph()});
}

}  // namespace

std::vector<NamedGraph> ReferenceGraphs() {
  std::vector<NamedGraph> graphs;
  AddDense(graphs);
  AddChunked(graphs);
  AddParallel(graphs);
  AddExperts(graphs);
  AddLatent(graphs);
  AddAttentionKinds(graphs);
  AddRecurrent(graphs);
  AddFlows(graphs);
  return graphs;
}

std::vector<model::ForwardPass> ReferencePasses() {
  const auto prefill = [](int64_t n, int64_t q, int64_t p) {
    return model::RequestGroup{Role::kPrefill, n, q, p};
  };
  const auto decode = [](int64_t n, int64_t q, int64_t p) {
    return model::RequestGroup{Role::kDecode, n, q, p};
  };
  return {
      BuildPass({prefill(1, 1, 0)}), BuildPass({prefill(1, 5, 0)}),
      BuildPass({prefill(2, 3, 4)}), BuildPass({prefill(1, 2, 1)}),
      BuildPass({decode(1, 1, 0)}),  BuildPass({decode(2, 1, 1)}),
      BuildPass({decode(2, 1, 7)}),  BuildPass({decode(1, 3, 5)}),
      MixedReferencePass(),
  };
}

model::ForwardPass MixedReferencePass() {
  return BuildPass({{Role::kPrefill, 1, 4, 2},
                    {Role::kDecode, 2, 1, 6},
                    {Role::kDecode, 1, 2, 0}});
}

}  // namespace mansard::testing
