// The record of a calibration, as lines of JSON: who was measured, every
// sample, what became of every case. Lines are only ever added, so a run that
// was cut short goes on where it stood.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibrate/measure/backend.h"
#include "calibrate/measure/measure_case.h"

namespace mansard::calibrate {

struct Record {
  DeviceIdentity device;
  std::string date;  // Of the start, "2026-11-30".
  // One a case, in the order of their first result; the last result counts.
  std::vector<CaseResult> results;

  // Null where the case has no result.
  const CaseResult* Find(const Case& measured) const;
};

// One line each, with its end.
std::string HeaderLine(const DeviceIdentity& device, absl::string_view date);
std::string SampleLine(const Case& measured, const Sample& sample);
std::string ResultLine(const CaseResult& result);

// A last line without its end is what a stopped run left and is passed over.
// Error: INVALID_ARGUMENT names the line and what is wrong with it; the first
// line must be a header, further ones must be of the same device.
absl::StatusOr<Record> ReadRecord(absl::string_view text);

}  // namespace mansard::calibrate
