// What measured tables call devices, engines and formats, and what they are
// here.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "calibrate/fit/gemm_rows.h"
#include "model/base/format.h"

namespace mansard::calibrate {

// "H100_SXM" -> "h100-sxm"; empty where no hardware profile is meant.
absl::string_view HardwareId(absl::string_view device);

// "vLLM", "0.24.0" -> "vllm-0.24"; empty for frameworks that are no engine.
std::string StackId(absl::string_view framework, absl::string_view version);

struct RowFormats {
  model::Format input = model::Format::kBf16;
  model::Format weights = model::Format::kBf16;
  model::Format output = model::Format::kBf16;
  bool quantizes = false;  // The row's time holds the input's quantisation.
};
// Empty where the row's formats are none of the engine's.
std::optional<RowFormats> FormatsOf(const GemmRow& row);

}  // namespace mansard::calibrate
