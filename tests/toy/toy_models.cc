#include "tests/toy/toy_models.h"

#include <cstdlib>
#include <iostream>
#include <utility>

namespace mansard::testing {
namespace {

using model::Role;

// Test inputs are right by construction; a wrong one ends the run loudly.
template <class T>
T Require(std::optional<T> value, const model::Violations& violations) {
  if (!value.has_value()) {
    std::cerr << violations.ToStatus() << "\n";
    std::abort();
  }
  return *std::move(value);
}

}  // namespace

model::ModelGraphSpec TinyGraph() {
  model::ModelGraphSpec spec;
  spec.display_name = "tiny";
  spec.hidden_size = 16;
  spec.vocabulary_size = 40;
  spec.max_context = 1000;
  spec.layer_kinds = {
      {"dense",
       model::GroupedQueryAttention{
           .query_heads = 4, .kv_heads = 2, .head_size = 6},
       model::DenseFeedForward{.intermediate_size = 24, .gated = true}}};
  spec.layer_kind_indexes = {0, 0};
  return spec;
}

model::ModelGraphSpec TinyMoeGraph() {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds[0].name = "moe";
  spec.layer_kinds[0].feed_forward =
      model::MixtureOfExperts{.expert_count = 4,
                              .experts_per_token = 2,
                              .expert_intermediate_size = 8,
                              .shared_intermediate_size = 12};
  return spec;
}

model::ModelGraphSpec TinyLatentGraph() {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds[0].name = "latent";
  spec.layer_kinds[0].attention = model::LatentAttention{.query_heads = 4,
                                                         .kv_lora_rank = 6,
                                                         .query_lora_rank = 10,
                                                         .nope_head_size = 3,
                                                         .rope_head_size = 2,
                                                         .value_head_size = 4};
  return spec;
}

std::shared_ptr<const model::ModelGraph> BuildGraph(
    model::ModelGraphSpec spec) {
  model::Violations violations;
  return std::make_shared<const model::ModelGraph>(Require(
      model::ModelGraph::Create(std::move(spec), violations), violations));
}

model::TargetSpec TargetOn(
    std::shared_ptr<const model::ModelGraph> graph,
    std::shared_ptr<const model::HardwareProfile> hardware, int tensor) {
  model::TargetSpec spec;
  spec.fabric = hardware->FindFabric("");
  spec.stack = hardware->FindStack("");
  spec.graph = std::move(graph);
  spec.hardware = std::move(hardware);
  spec.parallelism.tensor = tensor;
  return spec;
}

model::Target BuildTarget(const model::TargetSpec& spec) {
  model::Violations violations;
  absl::StatusOr<model::Target> target =
      model::Target::Create(spec, violations);
  if (!target.ok()) {
    std::cerr << target.status() << " " << violations.ToStatus() << "\n";
    std::abort();
  }
  return *std::move(target);
}

model::ForwardPass BuildPass(std::vector<model::RequestGroup> groups,
                             int64_t max_context) {
  model::Violations violations;
  return Require(
      model::ForwardPass::Create(std::move(groups), max_context, violations),
      violations);
}

model::ForwardPass DecodePass(int64_t requests, int64_t context) {
  return BuildPass({{.role = Role::kDecode,
                     .request_count = requests,
                     .new_tokens = 1,
                     .prior_tokens = context - 1}});
}

model::ForwardPass PrefillPass(int64_t requests, int64_t tokens) {
  return BuildPass({{.role = Role::kPrefill,
                     .request_count = requests,
                     .new_tokens = tokens,
                     .prior_tokens = 0}});
}

}  // namespace mansard::testing
