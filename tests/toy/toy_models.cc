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

model::RecurrentMixer TinyMixer(model::StateRule rule) {
  model::RecurrentMixer mixer{.rule = rule,
                              .heads = 4,
                              .key_heads = 2,
                              .key_size = 3,
                              .value_size = 2,
                              .conv_kernel = 4,
                              .output_norm = model::QkNorm::kPerHead};
  switch (rule) {
    case model::StateRule::kDecay:
      mixer.key_heads = 4;
      mixer.conv_kernel = 0;
      mixer.output_norm = model::QkNorm::kAllHeads;
      break;
    case model::StateRule::kGatedDelta:
      break;
    case model::StateRule::kKeyGatedDelta:
      mixer.key_heads = 4;
      mixer.gate = model::OutputGate::kLowRank;
      mixer.gate_rank = 5;
      mixer.decay_rank = 3;
      break;
    case model::StateRule::kMamba:
      mixer.heads = 8;
      mixer.key_heads = 1;
      mixer.value_size = 1;
      mixer.conv_bias = true;
      mixer.decay_rank = 2;
      mixer.output_norm = model::QkNorm::kNone;
      mixer.inner_norms = true;
      break;
    case model::StateRule::kMamba2:
      mixer.conv_bias = true;
      mixer.output_norm = model::QkNorm::kAllHeads;
      break;
  }
  return mixer;
}

model::ModelGraphSpec TinyRecurrentGraph(model::StateRule rule) {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "recurrent";
  spec.layer_kinds[1].attention.reset();
  spec.layer_kinds[1].recurrent = TinyMixer(rule);
  spec.layer_kind_indexes = {1, 1, 0};
  return spec;
}

model::ModelGraphSpec TinySideBySideGraph() {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds[0].recurrent = TinyMixer(model::StateRule::kMamba2);
  spec.native_precision.state = model::Format::kFp32;
  return spec;
}

model::ModelGraphSpec TinyPureMambaGraph() {
  model::ModelGraphSpec spec = TinySideBySideGraph();
  spec.layer_kinds[0].name = "mamba2";
  spec.layer_kinds[0].attention.reset();
  spec.layer_kinds[0].feed_forward = model::NoFeedForward{};
  return spec;
}

model::ModelGraphSpec TinyStreamsGraph() {
  model::ModelGraphSpec spec = TinyMoeGraph();
  spec.residual_streams = 4;
  return spec;
}

model::ModelGraphSpec TinyDraftingGraph() {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.push_back(TinyMoeGraph().layer_kinds[0]);
  spec.mtp.modules = 1;
  spec.mtp.layer_kind_indexes = {1};
  return spec;
}

model::ModelGraphSpec TinyFlowsGraph() {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.resize(3, spec.layer_kinds[0]);
  spec.layer_kinds[0].name = "after";
  spec.layer_kinds[0].norms = model::NormPlacement::kAfter;
  spec.layer_kinds[1].name = "both";
  spec.layer_kinds[1].norms = model::NormPlacement::kBoth;
  spec.layer_kinds[2].name = "parallel";
  spec.layer_kinds[2].parallel = true;
  spec.layer_kinds[2].parallel_norms = true;
  spec.layer_kind_indexes = {0, 1, 2, 0};
  spec.norm_bias = true;
  spec.position_rows = 1000;
  spec.layer_input_size = 3;
  spec.layer_input_rows = 40;
  return spec;
}

model::ModelGraphSpec TinyLatentMoeGraph() {
  model::ModelGraphSpec spec = TinyGraph();
  spec.layer_kinds.push_back(TinyMoeGraph().layer_kinds[0]);
  spec.layer_kinds[0].feed_forward = model::NoFeedForward{};
  spec.layer_kinds[1].attention.reset();
  auto& experts =
      std::get<model::MixtureOfExperts>(spec.layer_kinds[1].feed_forward);
  experts.latent_size = 8;
  experts.latent_norm = true;
  experts.router_bias = true;
  experts.expert_bias = true;
  experts.shared_expert_gate = true;
  spec.layer_kind_indexes = {0, 1, 0, 1};
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

model::ForwardPass BuildPass(model::RequestGroups groups, int64_t max_context) {
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
