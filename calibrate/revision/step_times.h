// What two revisions predict for a few steps that everyone knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mansard/v1/catalog.pb.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {

struct StepChange {
  std::string stack;
  std::string step;  // "decode of 64 x 4096 tokens".
  double a_seconds = 0;
  double b_seconds = 0;
};

// The model of the steps, and its passes: decodes of 1 and 64 requests of 4096
// tokens, a prompt of 4096, on one device.
inline constexpr char kStepModel[] = "llama-3.1-8b";

// On every stack that both have; only steps whose times are not the same. A
// revision of stacks alone stands on the shipped profile `hardware`, with its
// own stacks in place of those with their ids. Stacks that do not serve the
// model in its own formats are asked in fp32, else left out. Error:
// INVALID_ARGUMENT where a revision is no valid profile (`a` or `b` says
// which).
absl::StatusOr<std::vector<StepChange>> StepChanges(
    const v1::HardwareProfile& a, const v1::HardwareProfile& b,
    const std::string& hardware, const model::ShippedData& data);

}  // namespace mansard::calibrate
