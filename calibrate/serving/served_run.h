// One measured run with the passes behind it, and what costs make of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/serving/served_parts.h"
#include "calibrate/serving/serving_target.h"
#include "calibrate/tables/serving_rows.h"
#include "calibrate/tables/serving_rules.h"
#include "model/hardware/engine_costs.h"
#include "model/serving/served_form.h"

namespace mansard::calibrate {

struct ServedRun {
  const ServingRow* row = nullptr;
  RowStanding standing = RowStanding::kOtherKind;
  RunLoad load;
  ServedParts parts;  // Of kernels alone where the target is unfitted.
  bool slot_limited = false;
  bool experts = false;
  int weight_bits = 16;
  std::string architecture;  // "Blackwell".

  // Core, and not set aside by a rule that needs an estimate.
  bool IsCore() const {
    return standing == RowStanding::kCore && !slot_limited;
  }
};

// The form of the run, with these costs.
model::ServedForm FormOf(const ServedRun& run,
                         const model::FirstTokenCosts& costs);
// Its passes as an engine of these costs runs them.
model::ServedPassTimes PassesOf(const ServedParts& parts,
                                const model::OpCosts& costs);
// As served load is everywhere in the project.
model::ServedTimes TimesOfRun(const ServedRun& run, const model::OpCosts& costs,
                              const model::FirstTokenCosts& first_token);

// The same of the plain roofline's passes, without costs.
model::ServedTimes RooflineOf(const ServedRun& run);
// What no software beats: the decodes' passes alone for a token, the prompt's
// own for the first one. Other times are unset.
model::ServedTimes FloorOf(const ServedRun& run);

// Of all rows that have a target; rows outlive the runs. `targets` made them.
std::vector<ServedRun> RunsOf(const std::vector<ServingRow>& rows,
                              ServingTargets& targets);

// What costs are before any run has been looked at (Mansard design, end to end
// §2): kernels as they are, and the launches and small kernels that serving
// adds; to the first token, by engine.
model::EngineCosts UnfittedCosts(absl::string_view framework);

// Whether the row's time to the first token is to be left out: see
// HoldsStartUp. Of runs of unfitted targets.
bool StartsUp(const ServedRun& run);

}  // namespace mansard::calibrate
