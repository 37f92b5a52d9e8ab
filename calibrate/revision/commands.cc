#include "calibrate/revision/commands.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibrate/revision/diff_text.h"
#include "calibrate/revision/revision_diff.h"
#include "calibrate/revision/revision_file.h"
#include "calibrate/revision/step_times.h"
#include "model/base/status_macros.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

// The stack alone; whether it is there.
bool KeepStack(const std::string& id, v1::HardwareProfile& profile) {
  v1::HardwareProfile kept;
  for (v1::KernelStack& stack : *profile.mutable_kernel_stacks()) {
    if (stack.stack() == id) *kept.add_kernel_stacks() = std::move(stack);
  }
  profile = std::move(kept);
  return profile.kernel_stacks_size() > 0;
}

}  // namespace

absl::StatusOr<bool> RunDiff(const DiffOptions& options) {
  const bool json = options.output == "json";
  if (!json && !options.output.empty() && options.output != "text") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--output: is \"", options.output, "\"; allowed: text, json"));
  }
  ASSIGN_OR_RETURN(v1::HardwareProfile a, ReadRevision(options.a));
  ASSIGN_OR_RETURN(v1::HardwareProfile b, ReadRevision(options.b));
  if (!options.stack.empty()) {
    const bool in_a = KeepStack(options.stack, a);
    const bool in_b = KeepStack(options.stack, b);
    if (!in_a && !in_b) {
      return absl::NotFoundError(absl::StrCat("--stack: is \"", options.stack,
                                              "\", which neither file has"));
    }
  }
  const RevisionDiff diff = DiffRevisions(a, b);
  std::vector<StepChange> steps;
  if (!diff.empty()) {
    ASSIGN_OR_RETURN(const model::ShippedData data, model::LoadShippedData());
    auto changes = StepChanges(a, b, options.hardware, data);
    if (changes.ok()) {
      steps = *std::move(changes);
    } else {
      std::fprintf(stderr, "note: no times of steps: %s\n",
                   std::string(changes.status().message()).c_str());
    }
  }
  const std::string text = json ? DiffJson(options.a, options.b, diff, steps)
                                : DiffText(options.a, options.b, diff, steps);
  std::fputs(text.c_str(), stdout);
  return !diff.empty();
}

}  // namespace mansard::calibrate
