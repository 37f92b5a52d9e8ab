#include <utility>

#include "tests/reference/reference_graphs.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::CompressedAttention;
using model::CrossAttention;
using model::GroupedQueryAttention;
using model::LatentAttention;
using model::QkNorm;
using model::SparseIndexer;

NamedGraph Graph(std::string name, std::vector<model::Attention> attentions,
                 std::vector<int> layers) {
  NamedGraph graph{std::move(name), TinyGraph()};
  graph.spec.vocabulary_size = 13;
  graph.spec.layer_kinds.clear();
  const char* const kNames[] = {"first", "second", "third"};
  for (size_t i = 0; i < attentions.size(); ++i) {
    graph.spec.layer_kinds.push_back(
        {kNames[i], std::move(attentions[i]),
         model::DenseFeedForward{.intermediate_size = 24}});
  }
  graph.spec.layer_kind_indexes = std::move(layers);
  return graph;
}

LatentAttention Latent() {
  return {.query_heads = 4,
          .kv_lora_rank = 6,
          .query_lora_rank = 7,
          .nope_head_size = 3,
          .rope_head_size = 2,
          .value_head_size = 5};
}

CompressedAttention Compressed(int ratio) {
  return {.query_heads = 4,
          .head_size = 4,
          .rope_head_size = 2,
          .query_lora_rank = 5,
          .output_groups = 4,
          .output_lora_rank = 3,
          .sliding_window = 3,
          .ratio = ratio};
}

void AddGrouped(std::vector<NamedGraph>& graphs) {
  GroupedQueryAttention gated{.query_heads = 4,
                              .kv_heads = 2,
                              .head_size = 3,
                              .value_head_size = 5,
                              .nope_head_size = 1,
                              .qkv_bias = true,
                              .output_gate = true};
  GroupedQueryAttention narrow = gated;
  narrow.value_head_size = 2;
  narrow.nope_head_size = 3;
  narrow.qk_norm = QkNorm::kUnweighted;
  graphs.push_back(Graph("other value heads, gates", {gated, narrow}, {0, 1}));

  GroupedQueryAttention wide{.query_heads = 4,
                             .kv_heads = 2,
                             .head_size = 3,
                             .qk_norm = QkNorm::kAllHeads,
                             .sinks = true};
  GroupedQueryAttention window = wide;
  window.sliding_window = 3;
  window.qk_norm = QkNorm::kNone;
  graphs.push_back(
      Graph("norms over all heads, sinks", {wide, window}, {1, 0, 1}));

  GroupedQueryAttention keys{.query_heads = 4,
                             .kv_heads = 1,
                             .head_size = 4,
                             .qk_norm = QkNorm::kPerHead,
                             .value_from_key = true};
  GroupedQueryAttention shared = keys;
  shared.value_from_key = false;
  shared.shared_kv = true;
  GroupedQueryAttention shared_window = shared;
  shared_window.sliding_window = 3;
  shared_window.qk_norm = QkNorm::kAllHeads;
  graphs.push_back(Graph("values from keys, shared keys and values",
                         {keys, shared, shared_window}, {0, 1, 2, 1}));
}

void AddSparse(std::vector<NamedGraph>& graphs) {
  LatentAttention gated = Latent();
  gated.bias = true;
  gated.output_gate = true;
  gated.unrotated = true;
  graphs.push_back(Graph("latent, gated, not rotated", {gated}, {0, 0}));

  LatentAttention chooses = Latent();
  chooses.indexer = SparseIndexer{.heads = 2, .head_size = 4, .top_k = 3};
  LatentAttention follows = Latent();
  follows.indexer = SparseIndexer{.heads = 0, .head_size = 0, .top_k = 3};
  graphs.push_back(
      Graph("latent, chosen positions", {chooses, follows}, {0, 1, 0}));
  chooses.indexer->top_k = 100;
  graphs.push_back(Graph("latent, all positions chosen", {chooses}, {0}));
}

void AddCompressed(std::vector<NamedGraph>& graphs) {
  CompressedAttention chooses = Compressed(2);
  chooses.overlap = true;
  chooses.indexer = SparseIndexer{.heads = 3, .head_size = 2, .top_k = 2};
  graphs.push_back(Graph("compressed", {Compressed(0), chooses, Compressed(4)},
                         {0, 1, 2, 1}));
  CompressedAttention follows = Compressed(2);
  follows.sliding_window = 1;
  follows.overlap = true;
  follows.indexer = SparseIndexer{.heads = 0, .head_size = 0, .top_k = 1};
  graphs.push_back(
      Graph("compressed, entries chosen earlier", {chooses, follows}, {0, 1}));
}

}  // namespace

std::vector<NamedGraph> ReferenceCrossGraphs() {
  std::vector<NamedGraph> graphs;
  const GroupedQueryAttention grouped{
      .query_heads = 4, .kv_heads = 2, .head_size = 3};
  CrossAttention cross{.query_heads = 4,
                       .kv_heads = 2,
                       .head_size = 5,
                       .qk_norm = QkNorm::kPerHead};
  graphs.push_back(Graph("cross-attention", {grouped, cross}, {0, 1, 0}));
  cross.kv_heads = 1;
  cross.qk_norm = QkNorm::kAllHeads;
  graphs.push_back(Graph("cross-attention first", {cross, grouped}, {0, 1}));
  return graphs;
}

void AddAttentionKinds(std::vector<NamedGraph>& graphs) {
  AddGrouped(graphs);
  AddSparse(graphs);
  AddCompressed(graphs);
  for (NamedGraph& graph : ReferenceCrossGraphs()) {
    graphs.push_back(std::move(graph));
  }
}

std::vector<model::ForwardPass> ReferenceEncoderPasses() {
  const auto group = [](model::Role role, int64_t n, int64_t q, int64_t p,
                        int64_t encoder) {
    return model::RequestGroup{role, n, q, p, encoder};
  };
  using model::Role;
  return {
      BuildPass({group(Role::kPrefill, 2, 3, 0, 5)}),
      BuildPass({group(Role::kPrefill, 1, 3, 4, 5)}),
      BuildPass({group(Role::kDecode, 2, 1, 7, 4)}),
      BuildPass({group(Role::kDecode, 1, 3, 2, 1)}),
      BuildPass({group(Role::kPrefill, 1, 4, 0, 3),
                 group(Role::kDecode, 2, 1, 6, 2),
                 group(Role::kDecode, 1, 2, 0, 0),
                 group(Role::kPrefill, 1, 2, 0, 0)}),
  };
}

}  // namespace mansard::testing
