#include "model/io/layer_io.h"

#include <optional>

#include "model/io/format_io.h"
#include "model/io/sourced_io.h"

namespace mansard::model {
namespace {

using ProtoMixer = v1::RecurrentMixer;

// Empty, with a violation, where it is missing or unknown.
std::optional<StateRule> StateRuleFromProto(ProtoMixer::StateRule proto,
                                            Violations& violations) {
  switch (proto) {
    case ProtoMixer::STATE_RULE_DECAY:
      return StateRule::kDecay;
    case ProtoMixer::STATE_RULE_GATED_DELTA:
      return StateRule::kGatedDelta;
    case ProtoMixer::STATE_RULE_KEY_GATED_DELTA:
      return StateRule::kKeyGatedDelta;
    case ProtoMixer::STATE_RULE_MAMBA:
      return StateRule::kMamba;
    case ProtoMixer::STATE_RULE_MAMBA2:
      return StateRule::kMamba2;
    case ProtoMixer::STATE_RULE_UNSPECIFIED:
      AddRequired("state_rule", violations);
      return std::nullopt;
    default:  // Proto enums are open.
      AddUnknownEnum("state_rule", proto, violations);
      return std::nullopt;
  }
}

ProtoMixer::StateRule StateRuleToProto(StateRule rule) {
  switch (rule) {
    case StateRule::kDecay:
      return ProtoMixer::STATE_RULE_DECAY;
    case StateRule::kGatedDelta:
      return ProtoMixer::STATE_RULE_GATED_DELTA;
    case StateRule::kKeyGatedDelta:
      return ProtoMixer::STATE_RULE_KEY_GATED_DELTA;
    case StateRule::kMamba:
      return ProtoMixer::STATE_RULE_MAMBA;
    case StateRule::kMamba2:
      return ProtoMixer::STATE_RULE_MAMBA2;
  }
  return ProtoMixer::STATE_RULE_UNSPECIFIED;
}

OutputGate GateFromProto(ProtoMixer::OutputGate proto, Violations& violations) {
  switch (proto) {
    case ProtoMixer::OUTPUT_GATE_UNSPECIFIED:
    case ProtoMixer::OUTPUT_GATE_FULL:
      return OutputGate::kFull;
    case ProtoMixer::OUTPUT_GATE_LOW_RANK:
      return OutputGate::kLowRank;
    case ProtoMixer::OUTPUT_GATE_NONE:
      return OutputGate::kNone;
    default:  // Proto enums are open.
      AddUnknownEnum("output_gate", proto, violations);
      return OutputGate::kFull;
  }
}

ProtoMixer::OutputGate GateToProto(OutputGate gate) {
  switch (gate) {
    case OutputGate::kFull:
      return ProtoMixer::OUTPUT_GATE_UNSPECIFIED;
    case OutputGate::kLowRank:
      return ProtoMixer::OUTPUT_GATE_LOW_RANK;
    case OutputGate::kNone:
      return ProtoMixer::OUTPUT_GATE_NONE;
  }
  return ProtoMixer::OUTPUT_GATE_UNSPECIFIED;
}

NormPlacement PlacementFromProto(v1::LayerKind::NormPlacement proto,
                                 Violations& violations) {
  switch (proto) {
    case v1::LayerKind::NORM_PLACEMENT_UNSPECIFIED:
    case v1::LayerKind::NORM_PLACEMENT_BEFORE:
      return NormPlacement::kBefore;
    case v1::LayerKind::NORM_PLACEMENT_AFTER:
      return NormPlacement::kAfter;
    case v1::LayerKind::NORM_PLACEMENT_BOTH:
      return NormPlacement::kBoth;
    default:  // Proto enums are open.
      AddUnknownEnum("norm_placement", proto, violations);
      return NormPlacement::kBefore;
  }
}

v1::LayerKind::NormPlacement PlacementToProto(NormPlacement norms) {
  switch (norms) {
    case NormPlacement::kBefore:
      return v1::LayerKind::NORM_PLACEMENT_UNSPECIFIED;
    case NormPlacement::kAfter:
      return v1::LayerKind::NORM_PLACEMENT_AFTER;
    case NormPlacement::kBoth:
      return v1::LayerKind::NORM_PLACEMENT_BOTH;
  }
  return v1::LayerKind::NORM_PLACEMENT_UNSPECIFIED;
}

FeedForward FeedForwardFromProto(const v1::LayerKind& proto) {
  switch (proto.feed_forward_case()) {
    case v1::LayerKind::kDense:
      return DenseFeedForward{
          .intermediate_size = proto.dense().intermediate_size(),
          .gated = proto.dense().gated(),
          .bias = proto.dense().bias()};
    case v1::LayerKind::kExperts:
      return ExpertsFromProto(proto.experts());
    case v1::LayerKind::FEED_FORWARD_NOT_SET:
      break;
  }
  return NoFeedForward{};
}

v1::RecurrentMixer RecurrentToProto(const RecurrentMixer& mixer) {
  v1::RecurrentMixer proto;
  proto.set_state_rule(StateRuleToProto(mixer.rule));
  proto.set_head_count(mixer.heads);
  proto.set_key_head_count(mixer.key_heads);
  proto.set_key_size(mixer.key_size);
  proto.set_value_size(mixer.value_size);
  proto.set_convolution_token_count(mixer.conv_kernel);
  proto.set_convolution_bias(mixer.conv_bias);
  proto.set_projection_bias(mixer.projection_bias);
  proto.set_output_gate(GateToProto(mixer.gate));
  proto.set_gate_rank(mixer.gate_rank);
  proto.set_decay_rank(mixer.decay_rank);
  proto.set_output_norm(HeadNormToProto(mixer.output_norm));
  proto.set_inner_norms(mixer.inner_norms);
  return proto;
}

// Widths are at most 2^24.
struct WriteFeedForward {
  v1::LayerKind& proto;

  void operator()(const NoFeedForward& /*feed_forward*/) const {}
  void operator()(const DenseFeedForward& feed_forward) const {
    v1::DenseMlp& dense = *proto.mutable_dense();
    dense.set_intermediate_size(
        static_cast<int32_t>(feed_forward.intermediate_size));
    dense.set_gated(feed_forward.gated);
    dense.set_bias(feed_forward.bias);
  }
  void operator()(const MixtureOfExperts& feed_forward) const {
    v1::MixtureOfExperts& experts = *proto.mutable_experts();
    experts.set_expert_count(feed_forward.expert_count);
    experts.set_experts_per_token_count(feed_forward.experts_per_token);
    experts.set_expert_intermediate_size(
        static_cast<int32_t>(feed_forward.expert_intermediate_size));
    experts.set_shared_intermediate_size(
        static_cast<int32_t>(feed_forward.shared_intermediate_size));
    experts.set_gated(feed_forward.gated);
    // Without shared experts it says nothing.
    if (feed_forward.shared_intermediate_size != 0 &&
        feed_forward.shared_gated != feed_forward.gated) {
      experts.set_shared_gated(feed_forward.shared_gated);
    }
    experts.set_latent_size(static_cast<int32_t>(feed_forward.latent_size));
    experts.set_latent_norm(feed_forward.latent_norm);
    experts.set_router_bias(feed_forward.router_bias);
    experts.set_expert_bias(feed_forward.expert_bias);
    experts.set_shared_expert_gate(feed_forward.shared_expert_gate);
    experts.set_separate_norms(feed_forward.separate_norms);
    experts.set_hash_routing(feed_forward.hash_routing);
  }
};

}  // namespace

RecurrentMixer RecurrentFromProto(const v1::RecurrentMixer& proto,
                                  Violations& violations) {
  const std::optional<StateRule> rule =
      StateRuleFromProto(proto.state_rule(), violations);
  RecurrentMixer mixer{.rule = rule.value_or(StateRule::kMamba2),
                       .heads = proto.head_count(),
                       .key_heads = proto.key_head_count(),
                       .key_size = proto.key_size(),
                       .value_size = proto.value_size(),
                       .conv_kernel = proto.convolution_token_count(),
                       .conv_bias = proto.convolution_bias(),
                       .projection_bias = proto.projection_bias(),
                       .gate = GateFromProto(proto.output_gate(), violations),
                       .gate_rank = proto.gate_rank(),
                       .decay_rank = proto.decay_rank(),
                       .output_norm = HeadNormFromProto(
                           proto.output_norm(), "output_norm", violations),
                       .inner_norms = proto.inner_norms()};
  if (!rule.has_value()) {
    // Whether it takes these is not known.
    mixer.decay_rank = 0;
    mixer.inner_norms = false;
  }
  return mixer;
}

MixtureOfExperts ExpertsFromProto(const v1::MixtureOfExperts& proto) {
  return {.expert_count = proto.expert_count(),
          .experts_per_token = proto.experts_per_token_count(),
          .expert_intermediate_size = proto.expert_intermediate_size(),
          .shared_intermediate_size = proto.shared_intermediate_size(),
          .gated = proto.gated(),
          .shared_gated =
              proto.has_shared_gated() ? proto.shared_gated() : proto.gated(),
          .latent_size = proto.latent_size(),
          .latent_norm = proto.latent_norm(),
          .router_bias = proto.router_bias(),
          .expert_bias = proto.expert_bias(),
          .shared_expert_gate = proto.shared_expert_gate(),
          .separate_norms = proto.separate_norms(),
          .hash_routing = proto.hash_routing()};
}

LayerKind LayerKindFromProto(const v1::LayerKind& proto,
                             Violations& violations) {
  LayerKind kind;
  kind.name = proto.kind();
  if (proto.has_attention()) {
    Violations::Scope scope(violations, "attention");
    kind.attention = AttentionFromProto(proto.attention(), violations);
  }
  if (proto.has_recurrent()) {
    Violations::Scope scope(violations, "recurrent");
    kind.recurrent = RecurrentFromProto(proto.recurrent(), violations);
  }
  kind.feed_forward = FeedForwardFromProto(proto);
  kind.norms = PlacementFromProto(proto.norm_placement(), violations);
  kind.parallel = proto.parallel();
  kind.parallel_norms = proto.parallel_norms();
  kind.extra_parameters = proto.extra_parameter_count();
  kind.formats = LinearFormatsFromProto(proto.formats(), violations);
  return kind;
}

v1::LayerKind LayerKindToProto(const LayerKind& kind) {
  v1::LayerKind proto;
  proto.set_kind(kind.name);
  if (kind.attention.has_value()) {
    *proto.mutable_attention() = AttentionToProto(*kind.attention);
  }
  if (kind.recurrent.has_value()) {
    *proto.mutable_recurrent() = RecurrentToProto(*kind.recurrent);
  }
  std::visit(WriteFeedForward{proto}, kind.feed_forward);
  proto.set_norm_placement(PlacementToProto(kind.norms));
  proto.set_parallel(kind.parallel);
  proto.set_parallel_norms(kind.parallel_norms);
  proto.set_extra_parameter_count(kind.extra_parameters);
  LinearFormatsToProto(kind.formats, *proto.mutable_formats());
  return proto;
}

}  // namespace mansard::model
