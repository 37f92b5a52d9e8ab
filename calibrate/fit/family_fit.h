// Fits of kernel families, any of them, to measured rows: what the engine
// answers for a row's ops is the prediction, parameters go by name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibrate/fit/map_fit.h"
#include "calibrate/tables/measured_case.h"
#include "model/hardware/hardware_profile.h"
#include "model/hardware/kernel_families.h"

namespace mansard::calibrate {

// How far the rows may move a parameter from its prior.
struct FreeParameter {
  std::string name;  // As in the family's formula.
  double log_sigma = 0.4;
  double reach = 6;  // The bounds are prior / reach and prior * reach, cut to
                     // the parameter's range.
};

// One family of a fit: where it stands in a stack, as a binding says it, what
// it starts from and what may move. The rest of it stays.
struct FitSlot {
  std::string op_kind;
  std::string precision = "";
  std::string tier = "";
  model::KernelFamily prior;
  std::vector<FreeParameter> free;
};

// Families that are fitted together, to the same rows.
struct FitPlan {
  // Rows whose plans have the same name are one fit.
  std::string name;
  std::vector<FitSlot> slots;
  // For every stack of the device, not only the one that the rows name.
  bool of_device = false;
  // Fewer tell no family.
  size_t min_rows = 12;
  // Of stacks that get these families.
  std::optional<double> foreign_expert_rows = std::nullopt;
};

// The plans that a row is fitted by, all of one name: of several (other tiles,
// another trait), the one with the least loss stays. Empty where no family of
// ours is fitted to such rows.
using MakePlans = std::vector<FitPlan> (*)(const model::Device& device,
                                           const MeasuredCase& measured);

struct FamilyFit {
  // With the fitted families as priors, and the ranges of the rows' sizes.
  std::vector<FitSlot> slots;
  FitResult result;
  // Parameters left at their priors, as "family.parameter".
  std::vector<std::string> weak;
  // p10 and p90 of what rows and priors leave open, by such names; see
  // parameter_intervals.h.
  std::map<std::string, std::pair<double, double>> intervals;
  size_t rows = 0;
  // Where rows repeat few shapes: the mean loss on those that a fit did not
  // see.
  std::optional<double> cross_loss = std::nullopt;
  double sigma = 0;  // See Spread in map_fit.h; of rows that a fit did not see.
};

// What the fit says of one of its families: calibrated, with the provenance,
// which parameters stayed at their priors for want of `witnesses` ("rows"), and
// intervals of all.
void Describe(const FamilyFit& fit, const model::Provenance& provenance,
              absl::string_view witnesses, model::FamilyFacts& facts);

struct FamilyFitOptions {
  size_t max_rows = 512;  // Spread evenly over the list.
  int evaluations = 700;
  double prior_weight = 1;  // As FitOptions.
  int draws = 19;           // Of the intervals; 0: none.
  double coverage = 0.83;   // Of rows not seen, between p10 and p90.
};

// Puts a family where a binding of `slot` would; of a general op kind "gemm",
// "attention_decode", "attention_prefill" or "elementwise" too. Error: no
// family of its formula stands there.
absl::Status Place(const FitSlot& slot, model::KernelStackSpec& stack);

// `base` serves all that the slots do not. Error: of FitMap; no row has ops on
// the device; a family that KernelStack::Create refuses.
absl::StatusOr<FamilyFit> FitFamilies(
    const std::vector<const MeasuredCase*>& cases,
    const model::HardwareProfile& profile, const model::KernelStack& base,
    const FitPlan& plan, const FamilyFitOptions& options = {});

// The value of a formula's parameter; empty where the family has none of the
// name.
std::optional<double> ParameterOf(const model::KernelFamily& family,
                                  const std::string& name);

}  // namespace mansard::calibrate
