// The engine judged on measured rows.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/judge/errors.h"
#include "calibrate/judge/predictor.h"
#include "calibrate/judge/targets.h"
#include "calibrate/tables/measured_case.h"
#include "model/base/units.h"
#include "model/hardware/kernel_families.h"

namespace mansard::calibrate {

struct WorstRow {
  size_t row = 0;  // As of MeasuredCase.
  std::string shape;
  model::Seconds measured;
  model::Seconds predicted;
  bool in_target = false;
};

// Rows of one table, device, framework, version and slice.
struct Judgement {
  std::string table;
  std::string device;
  std::string framework;
  std::string version;
  std::string slice;
  std::string stack;                      // That answered; empty: none did.
  model::Tier tier = model::Tier::kSpec;  // The weakest of its rows'.
  std::optional<Target> target;
  size_t rows = 0;
  size_t answered = 0;
  std::array<size_t, kUnansweredCount> unanswered{};  // By reason.
  Errors all;
  Errors in_target;
  // Of the plain roofline on the same rows; in_range is 0.
  Errors all_roofline;
  Errors in_target_roofline;
  std::vector<Decile> deciles;  // Of all answered rows.
  std::vector<WorstRow> worst;  // By size of error, the largest first.

  // What the target is about: the mean or the median error of its rows.
  double TargetError() const;
  // Has a target and rows that it is about, and is above it.
  bool Misses() const;
};

struct JudgeOptions {
  bool all_rows = false;   // The rows that fits saw too.
  size_t worst_rows = 20;  // Kept of each group.
};

// Whether the row counts: no flag, on the side that is judged.
bool IsJudged(const MeasuredCase& measured, const JudgeOptions& options);

// By table in the order of the cases; of a table the largest mean error of
// in_target rows first, groups without such rows last. `answers`: by case;
// those of rows that do not count are not looked at.
std::vector<Judgement> Judge(const std::vector<MeasuredCase>& cases,
                             const std::vector<CaseAnswer>& answers,
                             const JudgeOptions& options);

}  // namespace mansard::calibrate
