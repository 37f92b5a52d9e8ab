#include "calibrate/revision/step_times.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/estimate/estimate.h"
#include "model/io/profile_io.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::HardwareProfile;
using ProfilePtr = std::shared_ptr<const HardwareProfile>;

struct Step {
  const char* name;
  model::RequestGroup group;
};
constexpr int64_t kTokens = 4096;
const Step kSteps[] = {
    {"decode of 1 x 4096 tokens", {model::Role::kDecode, 1, 1, kTokens - 1}},
    {"decode of 64 x 4096 tokens", {model::Role::kDecode, 64, 1, kTokens - 1}},
    {"prompt of 4096 tokens", {model::Role::kPrefill, 1, kTokens, 0}},
};

// A revision of stacks alone, as part of a shipped profile.
absl::StatusOr<v1::HardwareProfile> Whole(const v1::HardwareProfile& said,
                                          const std::string& hardware,
                                          const model::ShippedData& data) {
  if (said.has_device()) return said;
  const auto shipped = data.profiles.find(hardware);
  if (shipped == data.profiles.end()) {
    return absl::InvalidArgumentError(
        hardware.empty()
            ? std::string("is of stacks alone; --hardware names their device")
            : absl::StrCat("--hardware: is \"", hardware,
                           "\", which is not shipped"));
  }
  v1::HardwareProfile whole = model::ProfileToProto(*shipped->second);
  for (const v1::KernelStack& stack : said.kernel_stacks()) {
    v1::KernelStack* place = nullptr;
    for (v1::KernelStack& known : *whole.mutable_kernel_stacks()) {
      if (known.stack() == stack.stack()) place = &known;
    }
    *(place == nullptr ? whole.add_kernel_stacks() : place) = stack;
  }
  return whole;
}

absl::StatusOr<ProfilePtr> ProfileOf(const v1::HardwareProfile& said,
                                     const std::string& hardware,
                                     const model::ShippedData& data) {
  ASSIGN_OR_RETURN(const v1::HardwareProfile whole,
                   Whole(said, hardware, data));
  model::Violations violations;
  std::optional<HardwareProfile> profile =
      model::ProfileFromProto(whole, "", data.fabrics, violations);
  if (!profile.has_value()) return violations.ToStatus();
  return std::make_shared<const HardwareProfile>(*std::move(profile));
}

// Empty where the device or the stack computes in no such format.
std::optional<model::Target> TargetOf(const ProfilePtr& profile,
                                      const std::string& stack,
                                      const model::ShippedData& data) {
  model::TargetSpec spec;
  spec.graph = data.graphs.at(kStepModel);
  spec.hardware = profile;
  spec.fabric = &profile->fabrics().front();
  spec.stack = profile->FindStack(stack);
  if (spec.stack == nullptr) return std::nullopt;
  for (const bool wide : {false, true}) {
    if (wide) {
      spec.weights = Format::kFp32;
      spec.activations = Format::kFp32;
      spec.kv_cache = Format::kFp32;
    }
    model::Violations violations;
    absl::StatusOr<model::Target> target =
        model::Target::Create(spec, violations);
    if (target.ok()) return *std::move(target);
  }
  return std::nullopt;
}

absl::Status Of(absl::string_view side, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(side, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::vector<StepChange>> StepChanges(
    const v1::HardwareProfile& a, const v1::HardwareProfile& b,
    const std::string& hardware, const model::ShippedData& data) {
  const absl::StatusOr<ProfilePtr> in_a = ProfileOf(a, hardware, data);
  if (!in_a.ok()) return Of("a", in_a.status());
  const absl::StatusOr<ProfilePtr> in_b = ProfileOf(b, hardware, data);
  if (!in_b.ok()) return Of("b", in_b.status());
  const auto& graph = data.graphs.at(kStepModel);
  std::vector<StepChange> changes;
  for (const v1::KernelStack& stack : a.kernel_stacks()) {
    const auto before = TargetOf(*in_a, stack.stack(), data);
    const auto after = TargetOf(*in_b, stack.stack(), data);
    if (!before.has_value() || !after.has_value()) continue;
    for (const Step& step : kSteps) {
      model::Violations violations;
      const auto pass = model::ForwardPass::Create(
          {step.group}, graph->spec().max_context, violations);
      if (!pass.has_value()) return violations.ToStatus();
      const double a_seconds =
          model::EstimatePass(*before, *pass).phase.estimate.value();
      const double b_seconds =
          model::EstimatePass(*after, *pass).phase.estimate.value();
      if (a_seconds == b_seconds) continue;
      changes.push_back({stack.stack(), step.name, a_seconds, b_seconds});
    }
  }
  return changes;
}

}  // namespace mansard::calibrate
