#include "model/estimate/kernel_ops.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/kernel_collective.h"
#include "model/graph/graph_rules.h"

namespace mansard::model {
namespace {

constexpr double kMaxSize = 1e9;
constexpr double kMaxElements = 1e15;
constexpr double kMaxHidden = 1 << 24;
constexpr double kMaxFusedOperations = 1000;

struct Size {
  const char* field;
  int64_t value;
};

// Two sides of one matrix, each in range already.
void CheckMatrix(const Size& rows, const Size& columns,
                 Violations& violations) {
  const double elements =
      static_cast<double>(rows.value) * static_cast<double>(columns.value);
  if (elements > kMaxElements) {
    violations.Add(rows.field, absl::StrCat("is ", rows.value, "; times ",
                                            columns.field, ", ", columns.value,
                                            ", it may be up to 1e15 elements"));
  }
}

bool CheckSize(const Size& size, Violations& violations) {
  return violations.CheckRange(size.field, static_cast<double>(size.value), 1,
                               kMaxSize);
}

struct Checker {
  const Fabric* fabric;
  Violations& violations;

  void operator()(const GemmKernel& gemm) const {
    Violations::Scope scope(violations, "gemm");
    const Size m{"m", gemm.m};
    const Size n{"n", gemm.n};
    const Size k{"k", gemm.k};
    bool ok = CheckSize(m, violations);
    ok = CheckSize(n, violations) && ok;
    ok = CheckSize(k, violations) && ok;
    CheckSize({"batch_count", gemm.batch}, violations);
    if (!ok) return;
    CheckMatrix(m, k, violations);
    CheckMatrix(n, k, violations);
    CheckMatrix(m, n, violations);
  }

  void operator()(const AttentionKernel& kernel) const {
    Violations::Scope scope(violations, "attention");
    CheckAttentionRules(kernel.attention, violations);
    if (std::holds_alternative<CrossAttention>(kernel.attention)) {
      violations.Add("attention.cross",
                     "is set; allowed: grouped_query, multi_head_latent, "
                     "compressed: an encoder's positions are part of a pass of "
                     "a whole model");
    }
    const auto* grouped = std::get_if<GroupedQueryAttention>(&kernel.attention);
    if (kernel.full && (grouped == nullptr || grouped->sliding_window != 0 ||
                        grouped->chunk != 0)) {
      violations.Add("full",
                     "is true; allowed: with grouped queries alone, without a "
                     "window or chunk");
    }
  }

  void operator()(const ExpertsKernel& kernel) const {
    Violations::Scope scope(violations, "moe");
    violations.CheckRange("token_count", static_cast<double>(kernel.tokens), 1,
                          static_cast<double>(ForwardPass::kMaxNewTokens));
    violations.CheckRange("hidden_size", static_cast<double>(kernel.hidden), 1,
                          kMaxHidden);
    const size_t before = violations.all().size();
    CheckFeedForwardRules(kernel.experts, violations);
    if (violations.all().size() != before) return;
    Violations::Scope routing(violations, "routing");
    Violations none;
    ForwardPass::Create({{Role::kPrefill, 1, 1, 0}}, 1, none)
        ->WithRouting(kernel.routing, kernel.experts.expert_count, violations);
  }

  void operator()(const CollectiveKernel& kernel) const {
    CheckCollective(kernel, fabric, violations);
  }

  void operator()(const ElementwiseKernel& kernel) const {
    Violations::Scope scope(violations, "elementwise");
    const Size rows{"row_count", kernel.rows};
    const Size columns{"column_count", kernel.columns};
    bool ok = CheckSize(rows, violations);
    ok = CheckSize(columns, violations) && ok;
    if (ok) CheckMatrix(rows, columns, violations);
    violations.CheckRange("fused_operation_count", kernel.fused_operations, 0,
                          kMaxFusedOperations);
  }
};

// The feed-forward of a model of one layer, so that the ops and their order
// are those of Lower by construction. One prompt; one device.
OpList ExpertOps(const ExpertsKernel& kernel, const Fabric& fabric,
                 const PassFormats& formats) {
  Violations none;
  ModelGraphSpec one_layer;
  one_layer.hidden_size = kernel.hidden;
  one_layer.vocabulary_size = 1;
  one_layer.layer_kinds = {{.name = "experts",
                            .attention = GroupedQueryAttention{.query_heads = 1,
                                                               .kv_heads = 1,
                                                               .head_size = 1},
                            .feed_forward = kernel.experts}};
  one_layer.layer_kind_indexes = {0};
  one_layer.max_context = ForwardPass::kMaxNewTokens;
  const std::optional<ModelGraph> graph =
      ModelGraph::Create(std::move(one_layer), none);
  const std::optional<ForwardPass> pass =
      ForwardPass::Create({{Role::kPrefill, 1, kernel.tokens, 0}},
                          ForwardPass::kMaxNewTokens, none)
          ->WithRouting(kernel.routing, kernel.experts.expert_count, none);
  const std::optional<Layout> layout = Layout::Create({}, *graph, fabric, none);
  OpList all = Lower(*graph, *pass, *layout, formats, Fusion{});
  OpList ops;
  for (Op& op : all) {
    // From the router to the end of the layer.
    if (op.layer_kind < 0 || (ops.empty() && op.part != Part::kRouter)) {
      continue;
    }
    op.layer_kind = -1;
    ops.push_back(std::move(op));
  }
  return ops;
}

Op ElementwiseOp(const ElementwiseKernel& kernel, const PassFormats& formats) {
  using Operation = ElementwiseKernel::Operation;
  const ElementwiseShape shape{kernel.rows, kernel.columns, formats.hidden};
  const Format narrow = formats.precision.activations;
  switch (kernel.operation) {
    case Operation::kNorm:
      return NormOp(shape, false, formats.native);
    case Operation::kRope:
      return RopeOp(shape);
    case Operation::kActivation:
      return ActivationOp(shape, false);
    case Operation::kGatedActivation:
      return ActivationOp(shape, true);
    case Operation::kResidual:
      return ResidualOp(shape);
    case Operation::kAdd:
      return AddOp(shape);
    case Operation::kQuantize:
      return QuantizeOp(shape, narrow);
    case Operation::kDequantize:
      return DequantizeOp(shape, narrow);
    case Operation::kEmbedding:
      return EmbeddingOp(shape, formats.native);
    case Operation::kSampling:
      return SamplingOp(shape);
  }
  return AddOp(shape);
}

struct Builder {
  const KernelSpec& spec;
  const PassFormats& formats;

  OpList operator()(const GemmKernel& gemm) const {
    return {GemmOp({.m = gemm.m,
                    .n = gemm.n,
                    .k = gemm.k,
                    .batch = gemm.batch,
                    .input = formats.precision.activations,
                    .weights = formats.precision.weights,
                    .output = formats.hidden,
                    .compute = formats.compute},
                   false)};
  }

  OpList operator()(const AttentionKernel& kernel) const {
    return AttentionKernelOps(kernel, formats, spec.unfused_attention);
  }

  OpList operator()(const ExpertsKernel& kernel) const {
    return ExpertOps(kernel, *spec.fabric, formats);
  }

  OpList operator()(const CollectiveKernel& kernel) const {
    return {CollectiveKernelOp(kernel, *spec.fabric, formats)};
  }

  OpList operator()(const ElementwiseKernel& kernel) const {
    Op op = ElementwiseOp(kernel, formats);
    op.work.vector += Flops::Of(static_cast<double>(kernel.fused_operations) *
                                static_cast<double>(kernel.rows) *
                                static_cast<double>(kernel.columns));
    return {op};
  }
};

}  // namespace

void CheckKernel(const KernelWork& work, const Fabric* fabric,
                 Violations& violations) {
  std::visit(Checker{fabric, violations}, work);
}

absl::StatusOr<ResolvedFormats> FormatsOf(const KernelSpec& spec) {
  const Device& device = spec.hardware->device();
  if (std::holds_alternative<ElementwiseKernel>(spec.work)) {
    return ResolvedFormats{.formats = StorageFormats(spec.formats, {})};
  }
  if (const auto* collective = std::get_if<CollectiveKernel>(&spec.work)) {
    RETURN_IF_ERROR(
        CheckCollectives(TierOf(*collective, *spec.fabric), *spec.stack));
    return ResolvedFormats{.formats = StorageFormats(spec.formats, {})};
  }
  if (std::holds_alternative<ExpertsKernel>(spec.work)) {
    return ResolveFormats(spec.formats, {}, device, *spec.stack);
  }
  ResolvedFormats resolved{.formats = StorageFormats(spec.formats, {})};
  PassFormats& formats = resolved.formats;
  if (std::holds_alternative<AttentionKernel>(spec.work)) {
    RETURN_IF_ERROR(
        ResolveGemm(formats.hidden, formats.hidden, device, *spec.stack)
            .status());
    return resolved;
  }
  ASSIGN_OR_RETURN(
      const ComputeFormat compute,
      ResolveGemm(formats.precision.weights, formats.precision.activations,
                  device, *spec.stack));
  formats.compute = compute.format;
  resolved.weight_only = compute.weight_only;
  return resolved;
}

OpList KernelOps(const KernelSpec& spec, const PassFormats& formats) {
  return std::visit(Builder{spec, formats}, spec.work);
}

}  // namespace mansard::model
