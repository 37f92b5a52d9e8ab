#include "server/handlers/fitted_stack.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/io/derived_stack.h"
#include "model/io/stack_io.h"
#include "server/error.h"

namespace mansard::server {

std::optional<v1::KernelStack> CompleteStack(
    const v1::KernelStack& fitted, const model::HardwareProfile& profile,
    model::Violations& violations) {
  v1::KernelStack whole = fitted;
  if (!fitted.base_stack().empty()) {
    const model::KernelStack* const base =
        profile.FindStack(fitted.base_stack());
    if (base == nullptr) {
      violations.Add("base_stack",
                     absl::StrCat(Quoted(fitted.base_stack()),
                                  " is no stack of ", profile.id()));
      return std::nullopt;
    }
    whole = model::WithBase(fitted, *base);
  }
  const std::optional<model::KernelStack> stack =
      model::KernelStackFromProto(whole, violations);
  if (!stack.has_value()) return std::nullopt;
  return model::KernelStackToProto(*stack);
}

void PutStack(const v1::KernelStack& stack, v1::HardwareProfile& profile) {
  for (v1::KernelStack& known : *profile.mutable_kernel_stacks()) {
    if (known.stack() == stack.stack()) {
      known = stack;
      return;
    }
  }
  *profile.add_kernel_stacks() = stack;
}

double MaxResidual(const v1::KernelStack& fitted) {
  double largest = 0;
  for (const v1::KernelFamily& family : fitted.families()) {
    largest = std::max(largest, family.residual_ratio());
  }
  return largest;
}

}  // namespace mansard::server
