// Measured tables -> the calibrated kernel stacks of devices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/fit/family_fit.h"
#include "calibrate/fit/sanity.h"
#include "calibrate/tables/measured_case.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

// One fit, for people.
struct FitRecord {
  std::string hardware;
  std::string stack;
  std::string plan;
  FamilyFit fit;
  size_t held_out = 0;
  size_t named = 0;    // Fitted rows that a gate names.
  size_t dropped = 0;  // Of those, what the fit did not see.
};

// What a gate says of a fitted row; `plan` is empty where it compares plans.
struct NamedRow {
  std::string hardware;
  std::string stack;
  std::string plan;
  SuspectRow suspect;
};

struct FittedStacks {
  // Text of a profile's additional stacks, by hardware id.
  std::map<std::string, std::string> files;
  std::vector<FitRecord> records;
  std::vector<NamedRow> named;
};

struct FitStacksOptions {
  std::string date = "";      // Of the provenance.
  std::string hardware = "";  // Empty: all.
  std::string stack = "";     // Empty: all.
  std::string plan = "";      // How names of plans begin; empty: all.
  void (*done)(const FitRecord&) = nullptr;  // After each fit.
};

// The stack that families of the whole device stand in.
inline constexpr char kDeviceStack[] = "generic-measured";
// A fit that leaves more has not found what the rows are: it is recorded, but
// serves nothing.
inline constexpr double kMaxSigma = 0.5;
inline constexpr double kMaxLoss = 0.24;  // Of the mean row, about.

// A stack for every device and engine version with enough rows on the fitted
// side, apart from flagged rows; of a device's own plans, one that the others
// stand on. Error: a fit's.
absl::StatusOr<FittedStacks> FitStacks(const std::vector<MeasuredCase>& cases,
                                       const model::ShippedData& data,
                                       const FitStacksOptions& options);

}  // namespace mansard::calibrate
