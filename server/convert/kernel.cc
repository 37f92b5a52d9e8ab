#include "server/convert/kernel.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/io/layer_io.h"
#include "server/convert/estimate.h"
#include "server/convert/workload.h"

namespace mansard::server {
namespace {

using Collective = model::CollectiveKernel::Operation;
using Elementwise = model::ElementwiseKernel::Operation;

// Context of one request of a kernel, in tokens.
constexpr int64_t kMaxContext = 1'000'000'000;

template <class Operation>
struct Named {
  const char* name;
  Operation operation;
};

constexpr Named<Collective> kCollectives[] = {
    {"all_reduce", Collective::kAllReduce},
    {"all_gather", Collective::kAllGather},
    {"reduce_scatter", Collective::kReduceScatter},
    {"all_to_all", Collective::kAllToAll},
    {"broadcast", Collective::kBroadcast},
    {"send_receive", Collective::kSendReceive},
    {"expert_dispatch", Collective::kExpertDispatch},
    {"expert_combine", Collective::kExpertCombine},
};
constexpr Named<Elementwise> kElementwise[] = {
    {"norm", Elementwise::kNorm},
    {"rope", Elementwise::kRope},
    {"activation", Elementwise::kActivation},
    {"gated_activation", Elementwise::kGatedActivation},
    {"residual", Elementwise::kResidual},
    {"add", Elementwise::kAdd},
    {"quantize", Elementwise::kQuantize},
    {"dequantize", Elementwise::kDequantize},
    {"embedding", Elementwise::kEmbedding},
    {"sampling", Elementwise::kSampling},
};

// The operation of that name; a violation with all names otherwise.
template <class Operation, size_t kCount>
std::optional<Operation> Find(const Named<Operation> (&table)[kCount],
                              const std::string& name, const char* field,
                              model::Violations& violations) {
  std::string allowed;
  for (const Named<Operation>& entry : table) {
    if (name == entry.name) return entry.operation;
    absl::StrAppend(&allowed, allowed.empty() ? "" : ", ", entry.name);
  }
  violations.Add(field, absl::StrCat("is \"", name, "\"; allowed: ", allowed));
  return std::nullopt;
}

model::KernelWork WorkFromProto(const v1::EstimateKernelRequest::Gemm& proto) {
  return model::GemmKernel{
      .m = proto.m(),
      .n = proto.n(),
      .k = proto.k(),
      .batch = proto.batch_count() == 0 ? 1 : proto.batch_count()};
}

// One token: where the request has no pass that could be checked with it.
model::ForwardPass AnyPass() {
  model::Violations none;
  return *model::ForwardPass::Create({{model::Role::kDecode, 1, 1, 0}}, 1,
                                     none);
}

model::Attention AttentionOf(
    const v1::EstimateKernelRequest::AttentionKernel& proto,
    model::Violations& violations) {
  if (!proto.has_attention()) {
    violations.Add("attention", "is required");
    return model::GroupedQueryAttention{
        .query_heads = 1, .kv_heads = 1, .head_size = 1};
  }
  const model::Violations::Scope scope(violations, "attention");
  return model::AttentionFromProto(proto.attention(), violations);
}

model::KernelWork WorkFromProto(
    const v1::EstimateKernelRequest::AttentionKernel& proto,
    model::Violations& violations) {
  model::Attention attention = AttentionOf(proto, violations);
  std::optional<model::ForwardPass> pass;
  {
    const model::Violations::Scope scope(violations, "forward_pass");
    pass = FromProto(proto.forward_pass(),
                     {.max_context = kMaxContext,
                      .experts = std::nullopt,
                      .draft_modules = std::nullopt,
                      .cross_attention = false},
                     violations);
  }
  if (proto.forward_pass().has_expert_routing()) {
    violations.Add("forward_pass.expert_routing",
                   "is set; attention has no experts");
  }
  if (proto.forward_pass().has_drafting()) {
    violations.Add("forward_pass.drafting", "is set; attention drafts nothing");
  }
  return model::AttentionKernel{
      .pass = pass.has_value() ? *std::move(pass) : AnyPass(),
      .attention = std::move(attention),
      .full = proto.full()};
}

model::KernelWork WorkFromProto(
    const v1::EstimateKernelRequest::MoeKernel& proto,
    model::Violations& violations) {
  model::ExpertsKernel kernel{.tokens = proto.token_count(),
                              .hidden = proto.hidden_size(),
                              .experts = {.expert_count = 1,
                                          .experts_per_token = 1,
                                          .expert_intermediate_size = 1},
                              .routing = {}};
  if (proto.has_experts()) {
    kernel.experts = model::ExpertsFromProto(proto.experts());
  } else {
    violations.Add("experts", "is required");
  }
  const model::Violations::Scope scope(violations, "routing");
  auto routing = RoutingFromProto(proto.routing(), violations);
  // Without experts a histogram cannot be held against their number.
  if (routing.has_value() && proto.has_experts()) {
    kernel.routing = *std::move(routing);
  }
  return kernel;
}

// Ranks may come from the kernel, from the target, or from both alike.
model::KernelWork WorkFromProto(
    const v1::EstimateKernelRequest::CollectiveKernel& proto, int tensor_size,
    model::Violations& violations) {
  const std::optional<Collective> operation =
      Find(kCollectives, proto.collective(), "collective", violations);
  if (proto.rank_count() != 0 && tensor_size != 0 &&
      proto.rank_count() != tensor_size) {
    violations.Add("rank_count",
                   absl::StrCat("is ", proto.rank_count(),
                                "; target.parallelism.tensor_size is ",
                                tensor_size, ": set one, or both alike"));
  }
  model::CollectiveKernel kernel{
      .operation = operation.value_or(Collective::kAllReduce),
      .message_bytes = proto.message_bytes(),
      .ranks = proto.rank_count() != 0 ? proto.rank_count() : tensor_size,
      .nodes = proto.node_count()};
  kernel.algorithm =
      AlgorithmFromProto(proto.algorithm(), "algorithm", violations);
  if (proto.has_exchanged()) {
    const auto& tokens = proto.exchanged();
    kernel.exchanged = model::ExchangedTokens{
        .tokens = tokens.token_count(),
        .hidden = tokens.hidden_size(),
        .experts_per_token = tokens.experts_per_token_count(),
        .experts = tokens.expert_count(),
        .multiprocessors = tokens.multiprocessor_count()};
    if (tokens.has_imbalance_ratio()) {
      kernel.exchanged->imbalance = tokens.imbalance_ratio();
    }
  }
  return kernel;
}

model::KernelWork WorkFromProto(
    const v1::EstimateKernelRequest::ElementwiseKernel& proto,
    model::Violations& violations) {
  const std::optional<Elementwise> operation =
      Find(kElementwise, proto.operation(), "operation", violations);
  return model::ElementwiseKernel{
      .operation = operation.value_or(Elementwise::kAdd),
      .rows = proto.row_count(),
      .columns = proto.column_count(),
      .fused_operations = proto.fused_operation_count()};
}

}  // namespace

model::CollectiveAlgorithm AlgorithmFromProto(const std::string& name,
                                              const char* field,
                                              model::Violations& violations) {
  const auto algorithm = model::ParseAlgorithm(name);
  if (algorithm.has_value()) return *algorithm;
  violations.Add(field, absl::StrCat("is \"", name,
                                     "\"; allowed: ", model::AlgorithmNames(),
                                     ", or nothing: as the stack chooses"));
  return model::CollectiveAlgorithm::kAuto;
}

std::optional<model::KernelWork> FromProto(
    const v1::EstimateKernelRequest& request, model::Violations& violations) {
  using Request = v1::EstimateKernelRequest;
  switch (request.kernel_case()) {
    case Request::kGemm:
      return WorkFromProto(request.gemm());
    case Request::kAttention: {
      const model::Violations::Scope scope(violations, "attention");
      return WorkFromProto(request.attention(), violations);
    }
    case Request::kMoe: {
      const model::Violations::Scope scope(violations, "moe");
      return WorkFromProto(request.moe(), violations);
    }
    case Request::kCollective: {
      const model::Violations::Scope scope(violations, "collective");
      return WorkFromProto(request.collective(),
                           request.target().parallelism().tensor_size(),
                           violations);
    }
    case Request::kElementwise: {
      const model::Violations::Scope scope(violations, "elementwise");
      return WorkFromProto(request.elementwise(), violations);
    }
    case Request::KERNEL_NOT_SET:
      violations.Add("kernel",
                     "is required: gemm, attention, moe, collective or "
                     "elementwise");
      return std::nullopt;
  }
  return std::nullopt;
}

void ToProto(const model::KernelEstimate& kernel, const model::Device& device,
             v1::EstimateKernelResponse& proto) {
  for (size_t i = 0; i < kernel.ops.size(); ++i) {
    ToProto(kernel.ops[i], kernel.times[i], kernel.names[i], device,
            *proto.add_ops());
  }
  proto.set_time_seconds(kernel.estimate.value());
  proto.set_floor_seconds(kernel.floor.value());
  proto.set_overlapped_seconds(kernel.overlapped.value());
  proto.set_serial_seconds(kernel.serial.value());
  proto.set_p10_seconds(kernel.p10.value());
  proto.set_p90_seconds(kernel.p90.value());
  proto.set_bound(BoundToProto(kernel.bound));
  proto.set_arithmetic_intensity_flops_per_byte(kernel.intensity.value());
  proto.set_ridge_flops_per_byte(kernel.ridge.value());
}

}  // namespace mansard::server
