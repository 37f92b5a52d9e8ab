#include "model/io/derived_stack.h"

#include <set>
#include <tuple>

#include "google/protobuf/text_format.h"
#include "model/io/engine_costs_io.h"
#include "model/io/family_io.h"
#include "model/io/stack_io.h"

namespace mansard::model {

v1::KernelStack WithBase(const v1::KernelStack& proto,
                         const KernelStack& base) {
  using Binding = v1::KernelStack::Binding;
  const v1::KernelStack inherited = KernelStackToProto(base);
  v1::KernelStack whole = inherited;
  // Costs of 0 are set, though the wire does not tell.
  if (proto.has_host()) whole.clear_host();
  if (proto.has_engine_costs()) whole.clear_engine_costs();
  whole.MergeFrom(proto);
  whole.clear_base_stack();
  whole.clear_bindings();
  const auto key = [](const Binding& binding) {
    return std::make_tuple(binding.op_kind(), binding.precision(),
                           binding.tier());
  };
  std::set<std::tuple<std::string, std::string, std::string>> bound;
  // The first to bind a key keeps it; what `proto` binds twice stays twice,
  // for the reader to refuse.
  for (const Binding& binding : proto.bindings()) {
    bound.insert(key(binding));
    *whole.add_bindings() = binding;
  }
  for (const Binding& binding : inherited.bindings()) {
    if (bound.insert(key(binding)).second) *whole.add_bindings() = binding;
  }
  return whole;
}

std::string DerivedStackToText(const DerivedStack& derived) {
  v1::HardwareProfile profile;
  v1::KernelStack& stack = *profile.add_kernel_stacks();
  stack.set_stack(derived.id);
  stack.set_base_stack(derived.base);
  if (derived.foreign_expert_rows.has_value()) {
    stack.mutable_fusion()->set_foreign_expert_row_ratio(
        *derived.foreign_expert_rows);
  }
  if (derived.host.has_value()) {
    *stack.mutable_host() = HostToProto(*derived.host);
  }
  if (derived.engine_costs.has_value()) {
    *stack.mutable_engine_costs() = EngineCostsToProto(*derived.engine_costs);
  }
  std::set<std::string> written;
  for (const BoundFamily& bound : derived.families) {
    const std::string& family = FactsOf(bound.family).id;
    auto& binding = *stack.add_bindings();
    binding.set_op_kind(bound.op_kind);
    binding.set_precision(bound.precision);
    binding.set_tier(bound.tier);
    binding.set_family(family);
    if (written.insert(family).second) {
      *stack.add_families() = FamilyToProto(bound.family);
    }
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(profile, &text);
  return text;
}

}  // namespace mansard::model
