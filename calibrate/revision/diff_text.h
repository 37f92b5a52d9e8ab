// Differences of two revisions for people and programs.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "calibrate/revision/revision_diff.h"
#include "calibrate/revision/step_times.h"

namespace mansard::calibrate {

// "--- a", "+++ b", then what changed, lines of 100 columns at most but for
// names; empty where nothing did.
std::string DiffText(absl::string_view a, absl::string_view b,
                     const RevisionDiff& diff,
                     const std::vector<StepChange>& steps);

// {"a", "b", "added_stacks", "removed_stacks", "device", "families", "other",
// "steps"}; numbers that are not there are null.
std::string DiffJson(absl::string_view a, absl::string_view b,
                     const RevisionDiff& diff,
                     const std::vector<StepChange>& steps);

}  // namespace mansard::calibrate
