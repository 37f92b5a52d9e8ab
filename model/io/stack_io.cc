#include "model/io/stack_io.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/io/engine_costs_io.h"
#include "model/io/family_io.h"
#include "model/io/graph_io.h"
#include "model/io/sourced_io.h"
#include "model/io/stack_bindings.h"

namespace mansard::model {
namespace {

// Precondition: the binding and its family were checked.
template <class Family>
const Family& Bound(const Bindings& bindings, const char* op_kind,
                    FamilyMap& families) {
  NamedFamily& named = families.find(*bindings.Find(op_kind, ""))->second;
  named.used = true;
  return std::get<Family>(named.family);
}

// The ids that `of_format` gives, in the order of the proto, each once; by
// format the index into them, -1 for null.
template <class OfFormat>
std::vector<std::string> IndexByFormat(const OfFormat& of_format,
                                       const FamilyMap& families,
                                       std::array<int, kFormatCount>& index) {
  std::map<int, std::string> by_position;
  for (Format format : AllFormats()) {
    const std::string* id = of_format(format);
    if (id != nullptr) by_position[families.find(*id)->second.position] = *id;
  }
  std::vector<std::string> ids;
  for (const auto& [position, id] : by_position) ids.push_back(id);
  for (Format format : AllFormats()) {
    const std::string* id = of_format(format);
    index[static_cast<size_t>(format)] =
        id == nullptr
            ? -1
            : static_cast<int>(std::find(ids.begin(), ids.end(), *id) -
                               ids.begin());
  }
  return ids;
}

void BindGemm(const Bindings& bindings, FamilyMap& families,
              KernelStackSpec& spec) {
  const auto find = [&](Format format) {
    return bindings.Find(kGemm, std::string(TraitsOf(format).name));
  };
  for (const std::string& id :
       IndexByFormat(find, families, spec.gemm_by_format)) {
    NamedFamily& named = families.find(id)->second;
    named.used = true;
    spec.gemm.push_back(std::get<GemmFamily>(named.family));
  }
}

void BindCollectives(const Bindings& bindings, FamilyMap& families,
                     KernelStackSpec& spec) {
  for (size_t tier = 0; tier < kLinkTierCount; ++tier) {
    const std::string* id = bindings.Find(
        kCollective, std::string(LinkTierName(static_cast<LinkTier>(tier))));
    if (id == nullptr) continue;
    NamedFamily& named = families.find(*id)->second;
    named.used = true;
    spec.collectives[tier] = std::get<CollectiveFamily>(named.family);
  }
}

HostCost HostFromProto(const v1::HostCost& proto, Violations& violations) {
  Violations::Scope scope(violations, "host");
  HostCost host;
  host.step = Seconds::Of(proto.step_seconds());
  host.request = Seconds::Of(proto.request_seconds());
  host.prefill_token = Seconds::Of(proto.prefill_token_seconds());
  host.eager_launch = Seconds::Of(proto.eager_launch_seconds());
  host.cuda_graphs = proto.cuda_graphs();
  host.provenance = ProvenanceFromProto(proto.provenance(), violations);
  return host;
}

EngineMemory EngineMemoryFromProto(const v1::EngineMemory& proto,
                                   Violations& violations) {
  Violations::Scope scope(violations, "memory");
  EngineMemory memory;
  memory.usable_fraction = proto.usable_ratio();
  memory.framework = Bytes::Of(proto.framework_bytes());
  memory.communication = Bytes::Of(proto.communication_bytes());
  memory.token_budget = proto.max_batched_token_count();
  memory.sequence_limit = proto.max_sequence_count();
  memory.bytes_per_logit = proto.bytes_per_logit();
  memory.fixed_workspace = Bytes::Of(proto.fixed_workspace_bytes());
  memory.block_tokens = proto.block_token_count();
  memory.unified_pages = proto.unified_pages();
  memory.mxfp4_width_multiple =
      proto.mxfp4_width_multiple() == 0 ? 1 : proto.mxfp4_width_multiple();
  memory.provenance = ProvenanceFromProto(proto.provenance(), violations);
  return memory;
}

void EngineMemoryToProto(const EngineMemory& memory, v1::EngineMemory& proto) {
  proto.set_usable_ratio(memory.usable_fraction);
  proto.set_framework_bytes(memory.framework.value());
  proto.set_communication_bytes(memory.communication.value());
  proto.set_max_batched_token_count(static_cast<int32_t>(memory.token_budget));
  proto.set_max_sequence_count(static_cast<int32_t>(memory.sequence_limit));
  proto.set_bytes_per_logit(memory.bytes_per_logit);
  proto.set_fixed_workspace_bytes(memory.fixed_workspace.value());
  proto.set_block_token_count(static_cast<int32_t>(memory.block_tokens));
  proto.set_unified_pages(memory.unified_pages);
  if (memory.mxfp4_width_multiple != 1) {
    proto.set_mxfp4_width_multiple(
        static_cast<int32_t>(memory.mxfp4_width_multiple));
  }
  *proto.mutable_provenance() = ProvenanceToProto(memory.provenance);
}

void AddGemmBindings(const KernelStackSpec& spec, v1::KernelStack& proto) {
  const auto add = [&](int family, absl::string_view precision) {
    auto& binding = *proto.add_bindings();
    binding.set_op_kind(kGemm);
    binding.set_precision(std::string(precision));
    binding.set_family(spec.gemm[static_cast<size_t>(family)].facts.id);
  };
  const auto serves = [&](int family) {
    return std::count(spec.gemm_by_format.begin(), spec.gemm_by_format.end(),
                      family);
  };
  int fallback = -1;
  if (serves(-1) == 0) {
    fallback = 0;
    for (int i = 1; i < static_cast<int>(spec.gemm.size()); ++i) {
      if (serves(i) > serves(fallback)) fallback = i;
    }
    add(fallback, "");
  }
  for (Format format : AllFormats()) {
    const int family = spec.gemm_by_format[static_cast<size_t>(format)];
    if (family != -1 && family != fallback) {
      add(family, TraitsOf(format).name);
    }
  }
}

}  // namespace

std::optional<KernelStack> KernelStackFromProto(const v1::KernelStack& proto,
                                                Violations& violations) {
  const size_t before = violations.all().size();
  KernelStackSpec spec;
  spec.id = proto.stack();
  StackParts parts = ReadStackParts(proto, violations);
  FamilyMap& families = parts.families;
  const Bindings& bindings = parts.bindings;
  spec.host = HostFromProto(proto.host(), violations);
  spec.fusion.residual_into_norm = proto.fusion().residual_into_norm();
  spec.fusion.foreign_expert_rows = proto.fusion().foreign_expert_row_ratio();
  if (proto.has_memory()) {
    spec.memory = EngineMemoryFromProto(proto.memory(), violations);
  }
  if (proto.has_engine_costs()) {
    spec.engine_costs = EngineCostsFromProto(proto.engine_costs(), violations);
  }
  if (violations.all().size() != before) return std::nullopt;

  BindGemm(bindings, families, spec);
  spec.attention_decode =
      Bound<DecodeAttentionFamily>(bindings, kDecode, families);
  spec.attention_prefill =
      Bound<PrefillAttentionFamily>(bindings, kPrefill, families);
  spec.elementwise = Bound<ElementwiseFamily>(bindings, kElementwise, families);
  BindCollectives(bindings, families, spec);
  BindFine(bindings, families, spec.fine);
  for (const auto& [id, named] : families) {
    if (!named.used) {
      violations.Add(
          Indexed("families", static_cast<size_t>(named.position)),
          absl::StrCat("\"", id, "\" serves nothing: no binding leads to it"));
    }
  }
  std::optional<KernelStack> stack =
      KernelStack::Create(std::move(spec), violations);
  if (violations.all().size() != before) return std::nullopt;
  return stack;
}

v1::HostCost HostToProto(const HostCost& host) {
  v1::HostCost proto;
  proto.set_step_seconds(host.step.value());
  proto.set_request_seconds(host.request.value());
  proto.set_prefill_token_seconds(host.prefill_token.value());
  proto.set_eager_launch_seconds(host.eager_launch.value());
  proto.set_cuda_graphs(host.cuda_graphs);
  *proto.mutable_provenance() = ProvenanceToProto(host.provenance);
  return proto;
}

v1::KernelStack KernelStackToProto(const KernelStack& stack) {
  const KernelStackSpec& spec = stack.spec();
  v1::KernelStack proto;
  proto.set_stack(spec.id);
  AddGemmBindings(spec, proto);
  for (const GemmFamily& family : spec.gemm) {
    *proto.add_families() = FamilyToProto(family);
  }
  const auto add = [&](const char* op_kind, const KernelFamily& family) {
    auto& binding = *proto.add_bindings();
    binding.set_op_kind(op_kind);
    binding.set_family(FactsOf(family).id);
    *proto.add_families() = FamilyToProto(family);
  };
  add(kDecode, spec.attention_decode);
  add(kPrefill, spec.attention_prefill);
  add(kElementwise, spec.elementwise);
  std::set<std::string> written;
  for (size_t tier = 0; tier < kLinkTierCount; ++tier) {
    if (!spec.collectives[tier]) continue;
    const CollectiveFamily& family = *spec.collectives[tier];
    auto& binding = *proto.add_bindings();
    binding.set_op_kind(kCollective);
    binding.set_tier(std::string(LinkTierName(static_cast<LinkTier>(tier))));
    binding.set_family(family.facts.id);
    if (written.insert(family.facts.id).second) {
      *proto.add_families() = FamilyToProto(family);
    }
  }
  AddFine(spec.fine, proto);
  *proto.mutable_host() = HostToProto(spec.host);
  proto.mutable_fusion()->set_residual_into_norm(
      spec.fusion.residual_into_norm);
  proto.mutable_fusion()->set_foreign_expert_row_ratio(
      spec.fusion.foreign_expert_rows);
  if (spec.memory.has_value()) {
    EngineMemoryToProto(*spec.memory, *proto.mutable_memory());
  }
  if (spec.engine_costs.has_value()) {
    *proto.mutable_engine_costs() = EngineCostsToProto(*spec.engine_costs);
  }
  return proto;
}

}  // namespace mansard::model
