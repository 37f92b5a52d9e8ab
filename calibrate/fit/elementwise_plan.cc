#include "calibrate/fit/elementwise_plan.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibrate/tables/elementwise_cases.h"

namespace mansard::calibrate {
namespace {

constexpr double kWide = 0.5;  // Of a logarithm.

}  // namespace

std::vector<FitPlan> ElementwisePlans(const model::Device& device,
                                      const MeasuredCase& measured) {
  const std::optional<model::ElementwiseUse> use = UseOfSlice(measured.slice);
  if (!use) return {};
  const std::string name(model::ElementwiseUseName(*use));
  model::ElementwiseFamily family;
  family.facts.id = absl::StrCat("elementwise-", name);
  family.launch = model::Microseconds(2);
  family.hbm_fraction = 0.7;
  family.l2_feed = 2 * device.HbmBandwidth();
  FitPlan plan;
  plan.name = absl::StrCat("elementwise ", name);
  plan.of_device = measured.framework == "vidur-profiler";
  plan.slots.push_back({.op_kind = name,
                        .prior = family,
                        .free = {{"launch_seconds", kWide, 6},
                                 {"hbm_fraction_ratio", kWide, 6},
                                 {"l2_feed_bytes_per_second", kWide, 8}}});
  return {plan};
}

}  // namespace mansard::calibrate
