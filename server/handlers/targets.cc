#include "server/handlers/targets.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/base/status_macros.h"
#include "model/io/graph_io.h"
#include "server/catalog/errors.h"
#include "server/catalog/resource_name.h"
#include "server/convert/kernel.h"
#include "server/handlers/errors.h"
#include "server/handlers/hardware_choice.h"
#include "server/version.h"

namespace mansard::server {
namespace {

absl::StatusOr<Found<model::ModelGraph>> FindGraph(
    const Snapshot& snapshot, const v1::Target& target,
    model::Violations& violations) {
  Found<model::ModelGraph> found;
  switch (target.model_case()) {
    case v1::Target::kModelGraph: {
      const auto id = ParseResourceName(target.model_graph(), kModelGraphs,
                                        "model_graph", violations);
      if (!id.has_value()) return found;
      ASSIGN_OR_RETURN(const GraphEntry* entry, snapshot.FindGraph(*id));
      found.value = entry->graph;
      found.revision = absl::StrCat(ResourceName(kModelGraphs, *id), "@",
                                    entry->proto.revision_id());
      return found;
    }
    case v1::Target::kInlineModelGraph: {
      const model::Violations::Scope scope(violations, "inline_model_graph");
      std::optional<model::ModelGraph> graph =
          model::GraphFromProto(target.inline_model_graph(), "", violations);
      if (!graph.has_value()) return found;
      found.revision =
          absl::StrCat("inline@", model::GraphToProto(*graph).revision_id());
      found.value =
          std::make_shared<const model::ModelGraph>(*std::move(graph));
      return found;
    }
    case v1::Target::MODEL_NOT_SET:
      violations.Add("model_graph",
                     "is required: modelGraphs/{id}, or inline_model_graph");
      return found;
  }
  return found;
}

void TakeKvTransfer(const v1::KvTransfer& proto, model::TargetSpec& spec,
                    model::Violations& violations) {
  const model::Violations::Scope scope(violations, "kv_transfer");
  const std::optional<model::LinkTier> tier =
      model::ParseLinkTier(proto.tier());
  if (!tier.has_value()) {
    violations.Add("tier", absl::StrCat("is \"", proto.tier(),
                                        "\"; allowed: nvlink, pcie, rdma"));
    return;
  }
  spec.kv_send = {
      .tier = *tier, .nics = std::nullopt, .layer_wise = proto.layer_wise()};
  if (proto.nic_count() != 0) spec.kv_send->nics = proto.nic_count();
}

void TakeOverlap(const v1::Target::Overlap& overlap, model::TargetSpec& spec,
                 model::Violations& violations) {
  const model::Violations::Scope scope(violations, "overlap");
  if (overlap.kind().empty() || overlap.kind() == "none") {
    if (overlap.has_efficiency_ratio() || overlap.multiprocessor_count() != 0) {
      violations.Add("kind",
                     absl::StrCat("is required beside the other fields: ",
                                  model::OverlapKindNames()));
    }
    return;
  }
  const auto kind = model::ParseOverlapKind(overlap.kind());
  if (!kind.has_value()) {
    violations.Add("kind",
                   absl::StrCat("is \"", overlap.kind(), "\"; allowed: ",
                                model::OverlapKindNames(), ", none"));
    return;
  }
  spec.overlap = model::Overlap{};
  spec.overlap->kind = *kind;
  if (overlap.has_efficiency_ratio()) {
    spec.overlap->efficiency = overlap.efficiency_ratio();
  }
  spec.overlap->multiprocessors = overlap.multiprocessor_count();
}

void TakeOptions(const v1::Target& target, model::TargetSpec& spec,
                 model::Violations& violations) {
  spec.parallelism = FromProto(target.parallelism());
  TakeFormats(target.precision(), spec, violations);
  if (target.has_kv_head_count()) spec.kv_heads = target.kv_head_count();
  spec.unfused_attention = target.unfused_attention();
  if (target.has_kv_transfer()) {
    TakeKvTransfer(target.kv_transfer(), spec, violations);
  }
  if (target.has_residual_into_norm()) {
    spec.residual_into_norm = target.residual_into_norm();
  }
  if (target.has_cuda_graphs()) spec.cuda_graphs = target.cuda_graphs();
  TakeOverlap(target.overlap(), spec, violations);
  spec.all_reduce_algorithm = AlgorithmFromProto(
      target.all_reduce_algorithm(), "all_reduce_algorithm", violations);
}

// Classes of linear layers that are not in the formats of the rest.
void AddLinears(const model::Target& target, std::string& text) {
  const model::PassFormats& formats = target.formats();
  const auto add = [&](absl::string_view place, model::LinearClass linear,
                       model::Format weights, model::Format activations) {
    const bool follows = model::FollowsNativePrecision(linear);
    if (weights == (follows ? formats.precision.weights : formats.native) &&
        activations ==
            (follows ? formats.precision.activations : formats.hidden)) {
      return;
    }
    absl::StrAppend(&text, "\n", place, " ", model::LinearClassName(linear),
                    " ", model::TraitsOf(weights).name, " ",
                    model::TraitsOf(activations).name);
  };
  const auto& kinds = target.graph().spec().layer_kinds;
  for (size_t i = 0; i < kinds.size(); ++i) {
    for (model::LinearClass linear : model::AllLinearClasses()) {
      if (!model::HasLinear(kinds[i], linear)) continue;
      const model::GemmFormats& row =
          formats.OfKind(i)[static_cast<size_t>(linear)];
      add(kinds[i].name, linear, row.weights, row.activations);
    }
  }
  add("", model::LinearClass::kHead, formats.head.weights,
      formats.head.activations);
  add("", model::LinearClass::kEmbedding, formats.embedding, formats.hidden);
}

std::string SizesText(const model::Parallelism& sizes) {
  return absl::StrCat("\ntensor ", sizes.tensor, "\npipeline ", sizes.pipeline,
                      "\nexpert ", sizes.expert, "\ndata ", sizes.data,
                      "\nmoe ", sizes.moe_tensor, "\ncontext ", sizes.context,
                      "\nnodes ", sizes.nodes, "\nmicro ", sizes.micro_batches);
}

// What is asked for otherwise than the stack has it.
void AddChoices(const model::TargetSpec& spec, std::string& text) {
  if (spec.residual_into_norm.has_value()) {
    absl::StrAppend(&text, "\nresidual into norm ", *spec.residual_into_norm);
  }
  if (spec.cuda_graphs.has_value()) {
    absl::StrAppend(&text, "\ncuda graphs ", *spec.cuda_graphs);
  }
  if (spec.overlap.has_value()) {
    absl::StrAppend(&text, "\noverlap ", spec.overlap->efficiency, " ",
                    spec.overlap->multiprocessors);
    // The first kind had no name.
    if (spec.overlap->kind != model::Overlap::Kind::kTwoBatch) {
      absl::StrAppend(&text, " ", model::OverlapKindName(spec.overlap->kind));
    }
  }
  if (spec.all_reduce_algorithm != model::CollectiveAlgorithm::kAuto) {
    absl::StrAppend(&text, "\nall-reduce ",
                    model::AlgorithmName(spec.all_reduce_algorithm));
  }
  const model::EngineMemoryChoice& memory = spec.memory;
  if (memory != model::EngineMemoryChoice{}) {
    absl::StrAppend(&text, "\nmemory ", memory.usable_fraction.value_or(0), " ",
                    memory.token_budget.value_or(0), " ",
                    memory.sequence_limit.value_or(0), " ",
                    memory.block_tokens.value_or(0));
  }
}

// What the numbers depend on, graph and profile by their revisions.
model::ContentHasher HasherOf(const model::Target& target,
                              const v1::Resolution& resolution) {
  const model::Precision& precision = target.formats().precision;
  std::string text = absl::StrCat(
      resolution.model_graph_revision(), "\n",
      resolution.hardware_profile_revision(), "\n", resolution.kernel_stack(),
      "\n", resolution.fabric(), SizesText(target.layout().sizes()), "\n",
      model::TraitsOf(precision.weights).name, " ",
      model::TraitsOf(precision.activations).name, " ",
      model::TraitsOf(precision.kv_cache).name, " ",
      model::TraitsOf(precision.state).name, "\nkv heads");
  for (const model::LayerKind& kind : target.graph().spec().layer_kinds) {
    if (!kind.attention.has_value()) continue;
    if (const auto* grouped =
            std::get_if<model::GroupedQueryAttention>(&*kind.attention)) {
      absl::StrAppend(&text, " ", grouped->kv_heads);
    }
  }
  AddLinears(target, text);
  absl::StrAppend(&text, "\nfused ", target.fusion().attention);
  if (const std::optional<model::KvSend>& send = target.spec().kv_send) {
    absl::StrAppend(&text, "\nkv ", model::LinkTierName(send->tier), " ",
                    send->nics.value_or(0), " ", send->layer_wise);
  }
  AddChoices(target.spec(), text);
  model::ContentHasher hasher;
  hasher.Add(text);
  return hasher;
}

// The stacks that were measured on the device, where the target's was not.
void AddMeasuredStacks(const model::Target& target,
                       v1::Resolution& resolution) {
  const model::KernelStack& stack = target.view().stack;
  const model::Tier tier = stack.StrongestTier();
  if (tier == model::Tier::kCalibrated) return;
  const std::vector<std::string> measured =
      StackIds(target.hardware(), [](const model::KernelStack& other) {
        return other.StrongestTier() == model::Tier::kCalibrated;
      });
  if (measured.empty()) return;
  resolution.add_assumptions(absl::StrCat(
      "kernel stack \"", stack.spec().id, "\" is of tier ",
      model::TierName(tier),
      "; measured on this device: ", absl::StrJoin(measured, ", ")));
}

// Of a target that keeps every rule. `revisions`: those of graph and profile.
std::shared_ptr<const ResolvedTarget> Complete(model::Target target,
                                               const GraphFacts& graph,
                                               v1::Resolution revisions) {
  v1::Resolution& resolution = revisions;
  resolution.set_kernel_stack(target.view().stack.spec().id);
  resolution.set_fabric(target.view().fabric.spec().id);
  resolution.set_server_version(kVersion);
  for (const std::string& warning : target.warnings()) {
    resolution.add_warnings(warning);
  }
  for (const std::string& assumption : target.assumptions()) {
    resolution.add_assumptions(assumption);
  }
  AddMeasuredStacks(target, resolution);
  const model::ContentHasher hasher = HasherOf(target, resolution);
  return std::make_shared<const ResolvedTarget>(
      ResolvedTarget{std::move(target), graph, std::move(resolution), hasher});
}

}  // namespace

TargetAnswer ResolveTarget(const Snapshot& snapshot, const v1::Target& target,
                           model::Violations& violations,
                           const model::EngineMemoryChoice& memory) {
  TargetAnswer answer;
  const auto fail = [&answer](const absl::Status& error) {
    if (answer.error.ok()) answer.error = error;
  };
  model::TargetSpec spec;
  spec.memory = memory;
  v1::Resolution revisions;
  auto graph = FindGraph(snapshot, target, violations);
  auto profile = FindProfile(snapshot, target, violations);
  TakeOptions(target, spec, violations);
  if (graph.ok()) {
    spec.graph = graph->value;
    revisions.set_model_graph_revision(std::move(graph->revision));
    if (spec.graph) {
      answer.graph = {.max_context = spec.graph->spec().max_context,
                      .experts = spec.graph->ExpertCount(),
                      .draft_modules = spec.graph->spec().mtp.modules,
                      .cross_attention = model::AttendsToEncoder(*spec.graph)};
    }
  } else {
    fail(graph.status());
  }
  if (profile.ok()) {
    spec.hardware = profile->value;
    revisions.set_hardware_profile_revision(std::move(profile->revision));
    if (spec.hardware) fail(FindParts(target, spec));
  } else {
    fail(profile.status());
  }
  if (!spec.graph || !spec.hardware || !answer.error.ok()) return answer;
  absl::StatusOr<model::Target> created =
      model::Target::Create(spec, violations);
  if (created.ok()) {
    answer.resolved =
        Complete(*std::move(created), answer.graph, std::move(revisions));
  } else if (created.status().code() == absl::StatusCode::kFailedPrecondition) {
    fail(TargetUnsupported(created.status(), spec));
  } else {
    fail(created.status());
  }
  return answer;
}

TargetCache::~TargetCache() {
  for (std::atomic<const Entry*>& slot : slots_) delete slot.load();
}

size_t TargetCache::FirstSlot(absl::string_view key) {
  return absl::Hash<absl::string_view>()(key);
}

const ResolvedTarget* TargetCache::Find(absl::string_view key) const {
  const size_t first = FirstSlot(key);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Entry* const entry =
        slots_[(first + probe) % kSlots].load(std::memory_order_acquire);
    if (entry == nullptr) return nullptr;
    if (entry->key == key) return entry->resolved.get();
  }
  return nullptr;
}

void TargetCache::Keep(absl::string_view key,
                       std::shared_ptr<const ResolvedTarget> resolved) {
  auto entry = std::make_unique<const Entry>(
      Entry{std::string(key), std::move(resolved)});
  const size_t first = FirstSlot(key);
  for (size_t probe = 0; probe < kProbes; ++probe) {
    const Entry* there = nullptr;
    if (slots_[(first + probe) % kSlots].compare_exchange_strong(
            there, entry.get(), std::memory_order_acq_rel)) {
      static_cast<void>(entry.release());  // The slot owns it.
      return;
    }
    if (there->key == key) return;  // Another call was faster.
  }
}

}  // namespace mansard::server
