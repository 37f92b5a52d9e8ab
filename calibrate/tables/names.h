// What measured tables call devices, engines and formats, and what they are
// here.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "model/base/format.h"

namespace mansard::calibrate {

// "H100_SXM" -> "h100-sxm"; empty where no hardware profile is meant.
absl::string_view HardwareId(absl::string_view device);
// The reverse; empty where no table has a name for it.
absl::string_view TableDevice(absl::string_view hardware);

// "vLLM" -> "vllm", as ids of its stacks begin; empty for frameworks that are
// no engine.
absl::string_view EngineId(absl::string_view framework);

// "vLLM", "0.24.0" -> "vllm-0.24"; empty for frameworks that are no engine.
std::string StackId(absl::string_view framework, absl::string_view version);

struct RowFormats {
  model::Format input = model::Format::kBf16;
  model::Format weights = model::Format::kBf16;
  model::Format output = model::Format::kBf16;
  bool quantizes = false;  // The row's time holds the input's quantisation.
};
// How a row of matrix products spells them.
struct FormatNames {
  std::string input;
  std::string weights;
  std::string output;
  std::string quantization;
  std::string scope;
};
// Empty where they are none of the engine's.
std::optional<RowFormats> FormatsOf(const FormatNames& names);
// "bf16", "bf16 x int8", "fp8-block + quantize".
std::string FormatsText(const RowFormats& formats);
// "bf16" of a table of attention, by type alone.
std::optional<model::Format> FormatOfType(absl::string_view type);

}  // namespace mansard::calibrate
