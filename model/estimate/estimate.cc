#include "model/estimate/estimate.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/assumptions.h"
#include "model/estimate/formats.h"
#include "model/estimate/layout_assumptions.h"
#include "model/estimate/link_factor.h"
#include "model/estimate/memory_assumptions.h"
#include "model/estimate/overlapped.h"
#include "model/estimate/target_rules.h"
#include "model/price/scaled_hardware.h"

namespace mansard::model {
namespace {

std::shared_ptr<const ModelGraph> ResolveGraph(const TargetSpec& spec,
                                               Violations& violations) {
  if (!spec.kv_heads.has_value()) return spec.graph;
  std::optional<ModelGraph> changed =
      spec.graph->WithKvHeads(*spec.kv_heads, "kv_head_count", violations);
  if (!changed.has_value()) return nullptr;
  return std::make_shared<const ModelGraph>(*std::move(changed));
}

}  // namespace

CostCase CostCaseOf(const ModelGraph& graph, const PassFormats& formats,
                    const std::string& engine_version) {
  CostCase wanted;
  wanted.version = engine_version;
  const auto& kinds = graph.spec().layer_kinds;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool experts =
        std::holds_alternative<MixtureOfExperts>(kinds[i].feed_forward);
    if (wanted.experts && !experts) continue;
    wanted.experts = experts;
    const LinearClass linear =
        experts ? LinearClass::kExperts : LinearClass::kFeedForward;
    const GemmFormats& of_linear =
        formats.OfKind(i)[static_cast<size_t>(linear)];
    wanted.weight_bits = TraitsOf(of_linear.weights).element_bits;
  }
  return wanted;
}

absl::StatusOr<Target> Target::Create(const TargetSpec& spec,
                                      Violations& violations) {
  const size_t before = violations.all().size();
  std::shared_ptr<const ModelGraph> graph = ResolveGraph(spec, violations);
  std::optional<Layout> layout;
  {
    // With the graph's own KV heads where the override is refused, so that a
    // caller sees both mistakes.
    Violations::Scope scope(violations, "parallelism");
    layout = Layout::Create(spec.parallelism,
                            graph != nullptr ? *graph : *spec.graph,
                            *spec.fabric, violations);
  }
  if (spec.kv_send.has_value() && layout.has_value()) {
    const Violations::Scope scope(violations, "kv_transfer");
    CheckKvSend(*spec.kv_send, *layout, *spec.fabric, violations);
  }
  if (spec.overlap.has_value()) {
    CheckOverlap(*spec.overlap, spec, violations);
  }
  {
    const Violations::Scope scope(violations, "limits");
    CheckEngineMemoryChoice(spec.memory, violations);
  }
  if (violations.all().size() != before) {
    return absl::InvalidArgumentError("The target breaks rules.");
  }

  ASSIGN_OR_RETURN(
      ResolvedFormats resolved,
      ResolveGraphFormats({spec.weights, spec.activations, spec.kv_cache,
                           spec.state, spec.linears},
                          graph->spec(), spec.hardware->device(), *spec.stack));
  for (LinkTier tier : layout->Tiers()) {
    RETURN_IF_ERROR(CheckCollectives(tier, *spec.stack));
  }
  if (spec.kv_send.has_value()) {
    RETURN_IF_ERROR(CheckCollectives(spec.kv_send->tier, *spec.stack));
  }
  CheckAllReduce(spec, *layout, violations);
  if (violations.all().size() != before) {
    return absl::InvalidArgumentError("The target breaks rules.");
  }

  Target target(std::move(graph), spec.hardware, spec.fabric, spec.stack,
                *std::move(layout), std::move(resolved.formats));
  target.spec_ = spec;
  target.Choose();
  target.Describe(resolved.assumptions);
  return target;
}

Target::Target(std::shared_ptr<const ModelGraph> graph,
               std::shared_ptr<const HardwareProfile> hardware,
               const Fabric* fabric, const KernelStack* stack, Layout layout,
               PassFormats formats)
    : graph_(std::move(graph)),
      hardware_(std::move(hardware)),
      fabric_(fabric),
      stack_(stack),
      layout_(layout),
      formats_(std::move(formats)),
      fusion_(stack->spec().fusion) {}

void Target::Choose() {
  if (spec_.unfused_attention) fusion_.attention = false;
  fusion_.residual_into_norm =
      spec_.residual_into_norm.value_or(fusion_.residual_into_norm);
  const auto replace = [this](KernelStack stack) {
    changed_stack_ = std::make_shared<const KernelStack>(std::move(stack));
    stack_ = changed_stack_.get();
  };
  const bool graphs = stack_->spec().host.cuda_graphs;
  const bool chosen = spec_.memory != EngineMemoryChoice{};
  if (chosen || spec_.cuda_graphs.value_or(graphs) != graphs ||
      spec_.all_reduce_algorithm != CollectiveAlgorithm::kAuto ||
      spec_.gemm_tile.has_value()) {
    KernelStackSpec changed = stack_->spec();
    changed.host.cuda_graphs = spec_.cuda_graphs.value_or(graphs);
    if (chosen) changed.memory = WithChoice(changed.memory, spec_.memory);
    changed.all_reduce_algorithm = spec_.all_reduce_algorithm;
    if (spec_.gemm_tile.has_value()) ForceTile(*spec_.gemm_tile, changed);
    Violations none;  // All are legal in any stack, and were checked.
    std::optional<KernelStack> made =
        KernelStack::Create(std::move(changed), none);
    if (made.has_value()) replace(*std::move(made));
  }
  if (stack_->spec().engine_costs.has_value()) {
    KernelStackSpec changed = stack_->spec();
    changed.engine_costs =
        CostsFor(*changed.engine_costs,
                 CostCaseOf(*graph_, formats_, spec_.engine_version));
    Violations none;  // Products of legal ratios may be too large: then as is.
    std::optional<KernelStack> made =
        KernelStack::Create(std::move(changed), none);
    if (made.has_value()) replace(*std::move(made));
  }
  for (LinkTier tier : layout_.Tiers()) {
    const double factor = LinkFactor(*hardware_, *fabric_, tier);
    if (factor == 1) continue;
    replace(WithLinkRates(*stack_, tier, factor,
                          fabric_->spec().links.front().tier));
  }
}

void Target::Describe(const std::vector<std::string>& of_formats) {
  assumptions_ = DeviceAssumptions(hardware_->device());
  assumptions_.insert(assumptions_.end(), of_formats.begin(), of_formats.end());
  if (formats_.precision.weights != formats_.native) {
    const bool tables = formats_.head.weights == formats_.native &&
                        formats_.embedding == formats_.native;
    assumptions_.push_back(
        absl::StrCat(tables ? "embedding, head, norms and biases stay in "
                            : "norms and biases stay in ",
                     TraitsOf(formats_.native).name));
  }
  if (layout_.tensor() > 1) {
    assumptions_.push_back(
        "the vocabulary is sharded over the ranks: one all-reduce after the "
        "embedding, one all-gather of the logits");
  }
  for (std::string& assumption :
       LayoutAssumptions(*graph_, layout_, *fabric_, fusion_)) {
    assumptions_.push_back(std::move(assumption));
  }
  if (spec_.kv_send.has_value()) {
    for (std::string& assumption : KvSendAssumptions(*spec_.kv_send, *stack_)) {
      assumptions_.push_back(std::move(assumption));
    }
  }
  for (std::string& assumption : AttentionAssumptions(*graph_, layout_)) {
    assumptions_.push_back(std::move(assumption));
  }
  for (std::string& assumption :
       MemoryAssumptions(*graph_, layout_, formats_, *stack_)) {
    assumptions_.push_back(std::move(assumption));
  }
  for (LinkTier tier : layout_.Tiers()) {
    const double factor = LinkFactor(*hardware_, *fabric_, tier);
    if (factor == 1) continue;
    assumptions_.push_back(LinkFactorAssumption(tier, factor));
  }
  if (spec_.overlap.has_value()) {
    assumptions_.push_back(OverlapAssumption(*spec_.overlap));
  }
}

Estimate EstimatePass(const Target& target, const ForwardPass& pass) {
  Estimate estimate;
  EstimatePass(target, pass, estimate);
  return estimate;
}

void EstimatePass(const Target& target, const ForwardPass& pass,
                  Estimate& estimate) {
  const HardwareView view = target.view();
  if (target.layout().pipeline() > 1) {
    estimate.phase =
        EstimatePipeline(target.setup(), pass, estimate.ops, estimate.times);
    estimate.memory = PipelineFootprint(target.setup(), pass);
  } else if (target.spec().overlap.has_value() &&
             NoOverlapReason(target.setup(), pass, target.spec().overlap->kind)
                 .empty()) {
    estimate.phase =
        EstimateOverlapped(target.setup(), pass, estimate.ops, estimate.times);
    const OpList whole = Lower(target.graph(), pass, target.layout(),
                               target.formats(), target.fusion());
    estimate.memory = FootprintOf(whole, target.graph(), pass, target.layout(),
                                  0, target.formats(), view);
  } else {
    Lower(target.graph(), pass, target.layout(), target.formats(),
          target.fusion(), estimate.ops);
    PriceAll(estimate.ops, view, estimate.times);
    estimate.phase = Aggregate(estimate.ops, estimate.times, pass, view);
    estimate.memory = FootprintOf(estimate.ops, target.graph(), pass,
                                  target.layout(), 0, target.formats(), view);
  }
  if (!target.spec().kv_send.has_value()) return;
  const std::optional<TimedOp> sent =
      TimeKvSend(target.setup(), pass, *target.spec().kv_send);
  if (!sent.has_value()) return;
  AddToStep(sent->op, sent->time, pass, view, estimate.phase);
  estimate.ops.push_back(sent->op);
  estimate.times.push_back(sent->time);
}

}  // namespace mansard::model
