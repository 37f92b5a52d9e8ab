// The grid's flows: where norms stand, parallel layers, layers of one part,
// experts' extras, residual streams, what stands around the layers, modules
// that draft.
#include <utility>

#include "tests/reference/reference_graphs.h"
#include "tests/toy/toy_models.h"

namespace mansard::testing {
namespace {

using model::GroupedQueryAttention;
using model::LayerKind;
using model::MixtureOfExperts;
using model::NormPlacement;

const GroupedQueryAttention kAttention{
    .query_heads = 4, .kv_heads = 2, .head_size = 3};
const model::DenseFeedForward kDense{.intermediate_size = 24};
const MixtureOfExperts kExperts{.expert_count = 4,
                                .experts_per_token = 2,
                                .expert_intermediate_size = 8,
                                .shared_intermediate_size = 12};

LayerKind Layer(std::string name, model::FeedForward feed_forward,
                NormPlacement norms = NormPlacement::kBefore) {
  LayerKind kind{.name = std::move(name),
                 .attention = kAttention,
                 .feed_forward = feed_forward};
  kind.norms = norms;
  return kind;
}

NamedGraph Graph(std::string name, std::vector<LayerKind> kinds,
                 std::vector<int> layers) {
  NamedGraph graph{std::move(name), TinyGraph()};
  graph.spec.vocabulary_size = 13;
  graph.spec.layer_kinds = std::move(kinds);
  graph.spec.layer_kind_indexes = std::move(layers);
  return graph;
}

void AddPlacements(std::vector<NamedGraph>& graphs) {
  graphs.push_back(Graph("norms after",
                         {Layer("dense", kDense, NormPlacement::kAfter),
                          Layer("moe", kExperts, NormPlacement::kAfter)},
                         {0, 1, 1}));
  graphs.push_back(Graph("norms on both sides",
                         {Layer("dense", kDense, NormPlacement::kBoth)},
                         {0, 0}));
  const std::vector<LayerKind> all = {
      Layer("after", kDense, NormPlacement::kAfter),
      Layer("before", kDense, NormPlacement::kBefore),
      Layer("both", kDense, NormPlacement::kBoth)};
  graphs.push_back(Graph("norms move", all, {0, 1, 0, 2, 1, 2, 0}));
  graphs.back().spec.norm_bias = true;
  graphs.push_back(Graph("norms move, first before", all, {1, 1, 0, 0, 2}));
  graphs.back().spec.final_norm = false;
}

void AddParallelFlows(std::vector<NamedGraph>& graphs) {
  LayerKind two_norms = Layer("dense", kDense);
  two_norms.parallel = true;
  two_norms.parallel_norms = true;
  LayerKind after = Layer("after", kDense, NormPlacement::kAfter);
  after.parallel = true;
  LayerKind both = Layer("both", kDense, NormPlacement::kBoth);
  both.parallel = true;
  MixtureOfExperts latent = kExperts;
  latent.latent_size = 6;
  latent.latent_norm = true;
  LayerKind reducing = Layer("reducing", latent);
  reducing.parallel = true;
  graphs.push_back(Graph("parallel, two norms", {two_norms}, {0, 0}));
  graphs.back().spec.norm_bias = true;
  graphs.push_back(Graph("parallel, norms after and on both sides",
                         {after, both}, {0, 1, 0}));
  graphs.push_back(
      Graph("parallel, reduced apart", {reducing, two_norms}, {0, 1, 0}));
}

void AddSingleParts(std::vector<NamedGraph>& graphs) {
  LayerKind mixer = Layer("mixer", model::NoFeedForward{});
  LayerKind dense = Layer("dense", kDense);
  dense.attention.reset();
  dense.extra_parameters = 3;
  LayerKind experts = Layer("experts", kExperts, NormPlacement::kAfter);
  experts.attention.reset();
  graphs.push_back(
      Graph("one part a layer", {mixer, dense, experts}, {0, 1, 0, 2, 0, 1}));
  graphs.push_back(Graph("one part a layer, a feed-forward first",
                         {dense, mixer}, {0, 0, 1}));
}

void AddExpertExtras(std::vector<NamedGraph>& graphs) {
  MixtureOfExperts latent = kExperts;
  latent.latent_size = 6;
  latent.router_bias = true;
  latent.gated = false;
  latent.shared_gated = false;
  MixtureOfExperts normed = latent;
  normed.latent_norm = true;
  normed.gated = true;
  MixtureOfExperts alone = normed;
  alone.shared_intermediate_size = 0;
  graphs.push_back(Graph(
      "latent experts",
      {Layer("plain", latent), Layer("normed", normed), Layer("alone", alone)},
      {0, 1, 2}));
  MixtureOfExperts biased = kExperts;
  biased.expert_bias = true;
  biased.shared_expert_gate = true;
  biased.shared_gated = false;
  biased.hash_routing = true;
  MixtureOfExperts separate = kExperts;
  separate.separate_norms = true;
  separate.shared_expert_gate = true;
  MixtureOfExperts both = separate;
  both.latent_size = 6;
  both.latent_norm = true;
  graphs.push_back(Graph("gates, biases, norms of experts",
                         {Layer("biased", biased),
                          Layer("separate", separate, NormPlacement::kBoth),
                          Layer("latent", both, NormPlacement::kBoth)},
                         {0, 1, 2}));
  graphs.back().spec.norm_bias = true;
}

void AddEdges(std::vector<NamedGraph>& graphs) {
  NamedGraph edges = Graph("edges", {Layer("dense", kDense)}, {0, 0});
  edges.spec.position_rows = 5;
  edges.spec.embedding_norm = true;
  edges.spec.embedding_size = 6;
  edges.spec.extra_embedding_rows = 3;
  edges.spec.head_bias = true;
  edges.spec.extra_parameters = 7;
  graphs.push_back(edges);
  edges.name = "edges, tied, no final norm";
  edges.spec.tied_embeddings = true;
  edges.spec.final_norm = false;
  edges.spec.norm_bias = true;
  graphs.push_back(edges);
  LayerKind parallel = Layer("parallel", kDense);
  parallel.parallel = true;
  graphs.push_back(Graph(
      "layer inputs",
      {Layer("both", kDense, NormPlacement::kBoth), Layer("before", kDense),
       Layer("after", kExperts, NormPlacement::kAfter), parallel},
      {0, 1, 0, 2, 0, 3, 2}));
  graphs.back().spec.layer_input_size = 3;
  graphs.back().spec.layer_input_rows = 11;
}

// Modules: two with tables of their own; one that shares the model's; streams.
void AddStreamsAndModules(std::vector<NamedGraph>& graphs) {
  const std::vector<LayerKind> kinds = {Layer("dense", kDense),
                                        Layer("moe", kExperts)};
  graphs.push_back(Graph("two streams", kinds, {0, 1, 1}));
  graphs.back().spec.residual_streams = 2;
  graphs.push_back(Graph("modules with tables", kinds, {0, 0}));
  graphs.back().spec.norm_bias = true;
  graphs.back().spec.extra_embedding_rows = 2;
  graphs.back().spec.mtp = {.modules = 2,
                            .layer_kind_indexes = {1, 0},
                            .own_embedding = true,
                            .own_head = true};
  graphs.push_back(Graph("a module", kinds, {0, 1}));
  graphs.back().spec.embedding_size = 6;
  graphs.back().spec.head_bias = true;
  graphs.back().spec.mtp = {.modules = 1, .layer_kind_indexes = {1}};
  graphs.push_back(Graph("four streams, a module", kinds, {1, 0}));
  graphs.back().spec.residual_streams = 4;
  graphs.back().spec.mtp = {.modules = 1, .layer_kind_indexes = {0}};
}

}  // namespace

void AddFlows(std::vector<NamedGraph>& graphs) {
  AddPlacements(graphs);
  AddParallelFlows(graphs);
  AddSingleParts(graphs);
  AddExpertExtras(graphs);
  AddEdges(graphs);
  AddStreamsAndModules(graphs);
}

}  // namespace mansard::testing
