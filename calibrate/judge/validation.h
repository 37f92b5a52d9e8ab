// Measured tables as text -> judgements and predictions, with the shipped
// hardware.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibrate/judge/judge.h"
#include "calibrate/judge/place.h"

namespace mansard::calibrate {

struct MeasuredText {
  std::string name;  // As messages show it.
  std::string csv;
};

struct ValidationOptions {
  PlaceOptions place;
  JudgeOptions judge;
  bool predictions = false;
  // Called now and then with the rows done and those of all tables.
  std::function<void(size_t done, size_t rows)> progress = nullptr;
};

struct Validation {
  std::vector<Judgement> judgements;
  // By table, as WithPredictions; empty where not asked for.
  std::vector<std::string> predictions;
};

// Tables of one kind are judged together, under one heading. Error: a text that
// is no table of ours, with its name; of CheckOptions.
absl::StatusOr<Validation> Validate(const std::vector<MeasuredText>& tables,
                                    const ValidationOptions& options);

}  // namespace mansard::calibrate
