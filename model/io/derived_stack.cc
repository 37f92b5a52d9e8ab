#include "model/io/derived_stack.h"

#include <set>
#include <tuple>

#include "google/protobuf/text_format.h"
#include "model/io/family_io.h"
#include "model/io/stack_io.h"

namespace mansard::model {

v1::KernelStack WithBase(const v1::KernelStack& proto,
                         const KernelStack& base) {
  using Binding = v1::KernelStack::Binding;
  const v1::KernelStack inherited = KernelStackToProto(base);
  v1::KernelStack whole = inherited;
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
  for (Binding binding : inherited.bindings()) {
    if (bound.insert(key(binding)).second) *whole.add_bindings() = binding;
    if (binding.op_kind() != "gemm") continue;
    binding.set_op_kind("grouped_gemm");
    if (bound.insert(key(binding)).second) *whole.add_bindings() = binding;
  }
  return whole;
}

std::string DerivedStackToText(absl::string_view id, absl::string_view base,
                               const std::vector<BoundGemm>& gemm) {
  v1::HardwareProfile profile;
  v1::KernelStack& stack = *profile.add_kernel_stacks();
  stack.set_stack(std::string(id));
  stack.set_base_stack(std::string(base));
  for (const BoundGemm& bound : gemm) {
    auto& binding = *stack.add_bindings();
    binding.set_op_kind("gemm");
    binding.set_precision(std::string(TraitsOf(bound.format).name));
    binding.set_family(bound.family.facts.id);
    *stack.add_families() = FamilyToProto(bound.family);
  }
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseShortRepeatedPrimitives(true);
  std::string text;
  printer.PrintToString(profile, &text);
  return text;
}

}  // namespace mansard::model
