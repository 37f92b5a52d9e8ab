// All cases of a calibration, one after the other, within a time budget.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/measure/backend.h"
#include "calibrate/measure/record.h"

namespace mansard::calibrate {

// Where a campaign stands: after each case, and before the first.
struct Standing {
  size_t done = 0;
  size_t total = 0;
  double elapsed_seconds = 0;
  double budget_seconds = 0;
  const CaseResult* last = nullptr;  // Null before the first.
};

struct CampaignOptions {
  double budget_seconds = 600;
  LoopOptions loop;
  std::string date;         // Of the record's header.
  std::string record_path;  // Empty: nothing is written.
  std::function<void(const Standing& standing)> progress = nullptr;
};

// Measures in the order of the list: what matters most stands first. Cases
// that the record at record_path has measured already are not run again; the
// others' lines are added to it. A case that the budget has no time for is
// skipped, one that fails is noted, and the rest goes on; three device
// failures one after the other end it. Error: the record cannot be read or
// written, or is another device's; INTERNAL with the last failure.
absl::StatusOr<Record> RunCampaign(Backend& backend,
                                   const std::vector<Case>& cases,
                                   const CampaignOptions& options);

}  // namespace mansard::calibrate
