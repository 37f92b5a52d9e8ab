#include "model/estimate/estimate.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace mansard::model {
namespace {

Format WideOr(Format format, Format otherwise) {
  return IsLowPrecision(format) ? otherwise : format;
}

absl::Status Unsupported(absl::string_view what, const TargetSpec& spec) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, "; tensor formats of this device: ",
                   spec.hardware->device().TensorFormatNames()));
}

// A tensor rate and a kernel family for GEMMs of these operands.
absl::StatusOr<ComputeFormat> ResolveGemm(Format weights, Format activations,
                                          const TargetSpec& spec) {
  const std::optional<ComputeFormat> compute =
      spec.hardware->device().ComputeFor(weights, activations);
  if (!compute.has_value()) {
    return Unsupported(
        absl::StrCat("The device has no tensor unit for ",
                     TraitsOf(activations).name, " activations with ",
                     TraitsOf(weights).name, " weights"),
        spec);
  }
  if (spec.stack->GemmFor(compute->format) == nullptr) {
    return Unsupported(absl::StrCat("Kernel stack \"", spec.stack->spec().id,
                                    "\" has no GEMM family for ",
                                    TraitsOf(compute->format).name),
                       spec);
  }
  return *compute;
}

std::shared_ptr<const ModelGraph> ResolveGraph(const TargetSpec& spec,
                                               Violations& violations) {
  if (!spec.kv_heads.has_value()) return spec.graph;
  std::optional<ModelGraph> changed =
      spec.graph->WithKvHeads(*spec.kv_heads, "kv_head_count", violations);
  if (!changed.has_value()) return nullptr;
  return std::make_shared<const ModelGraph>(*std::move(changed));
}

absl::Status CheckCollectives(const Layout& layout, const KernelStack& stack) {
  if (!layout.tensor_tier().has_value()) return absl::OkStatus();
  const LinkTier tier = *layout.tensor_tier();
  if (stack.spec().collectives[static_cast<size_t>(tier)].has_value()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("Kernel stack \"", stack.spec().id,
                   "\" has no collective family for ", LinkTierName(tier)));
}

}  // namespace

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
  if (violations.all().size() != before) {
    return absl::InvalidArgumentError("The target breaks rules.");
  }

  const Precision& own = graph->spec().native_precision;
  PassFormats formats;
  formats.precision.weights = spec.weights.value_or(own.weights);
  formats.precision.activations = spec.activations.value_or(own.activations);
  formats.precision.kv_cache = spec.kv_cache.value_or(own.kv_cache);
  formats.hidden = WideOr(formats.precision.activations,
                          WideOr(own.activations, Format::kBf16));
  formats.native = WideOr(own.weights, formats.hidden);
  absl::StatusOr<ComputeFormat> layers = ResolveGemm(
      formats.precision.weights, formats.precision.activations, spec);
  if (!layers.ok()) return layers.status();
  absl::StatusOr<ComputeFormat> head =
      ResolveGemm(formats.native, formats.hidden, spec);
  if (!head.ok()) return head.status();
  formats.compute = layers->format;
  formats.head_compute = head->format;
  absl::Status collectives = CheckCollectives(*layout, *spec.stack);
  if (!collectives.ok()) return collectives;

  Target target(std::move(graph), spec.hardware, spec.fabric, spec.stack,
                *std::move(layout), formats);
  target.Describe(layers->weight_only);
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
      formats_(formats) {}

void Target::Describe(bool weight_only) {
  const DeviceSpec& device = hardware_->device().spec();
  if (!device.l2.has_value() || !device.l2->bandwidth.has_value()) {
    assumptions_.push_back(
        "no source gives this device's L2 bandwidth: the floor leaves L2 out");
  }
  if (weight_only) {
    assumptions_.push_back(absl::StrCat(
        TraitsOf(formats_.precision.weights).name, " weights with ",
        TraitsOf(formats_.precision.activations).name,
        " activations: weight-only, GEMMs run at the ",
        TraitsOf(formats_.compute).name,
        " rate; dequantisation is not charged"));
  }
  if (formats_.precision.weights != formats_.native) {
    assumptions_.push_back(
        absl::StrCat("embedding, head, norms and biases "
                     "stay in ",
                     TraitsOf(formats_.native).name));
  }
  if (layout_.tensor() > 1) {
    assumptions_.push_back(
        "the vocabulary is sharded over the ranks: one all-reduce after the "
        "embedding, one all-gather of the logits");
  }
  assumptions_.push_back(
      "memory counts weights and KV cache; activation workspace and framework "
      "reserve are not counted");
}

Estimate EstimatePass(const Target& target, const ForwardPass& pass) {
  const HardwareView view = target.view();
  Estimate estimate;
  estimate.ops = Lower(target.graph(), pass, target.layout(), target.formats(),
                       view.stack.spec().fusion);
  estimate.times = PriceAll(estimate.ops, view);
  estimate.phase = Aggregate(estimate.ops, estimate.times, pass, view);
  estimate.memory = FootprintOf(estimate.ops, target.graph(), pass,
                                target.layout(), target.formats(), view.device);
  return estimate;
}

}  // namespace mansard::model
