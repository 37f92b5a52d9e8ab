#include "calibrate/tables/names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mansard::calibrate {
namespace {

using model::Format;
using model::TraitsOf;

struct Alias {
  const char* table;
  const char* here;
};
constexpr Alias kDevices[] = {
    {"A100_SXM_80GB", "a100-sxm-80gb"},
    {"A100_PCIE_40GB", "a100-pcie-40gb"},
    {"A100_PCIE_80GB", "a100-pcie-80gb"},
    {"A100_SXM_40GB", "a100-sxm-40gb"},
    {"H100_SXM", "h100-sxm"},
    {"H100_PCIE", "h100-pcie"},
    {"H200_SXM", "h200-sxm"},
    {"H800_SXM", "h800-sxm"},
    {"B200_SXM", "b200-sxm"},
    {"B300_SXM", "b300-sxm"},
    {"GB200", "gb200"},
    {"GB300", "gb300"},
    {"L40S", "l40s"},
    {"L4", "l4"},
    {"T4", "t4"},
    {"V100_PCIE_16GB", "v100-pcie-16gb"},
    {"RTX_4090", "rtx-4090"},
    {"RTX_PRO_6000_SERVER", "rtx-pro-6000"},
    {"MI210", "mi210"},
    {"MI300X", "mi300x"},
    {"MI325X", "mi325x"},
    {"MI355X", "mi355x"},
    {"TPU_V6E", "tpu-v6e"},
    // In no table yet: imports write them.
    {"A10", "a10"},
    {"A30", "a30"},
    {"CPU_AVX512", "cpu-avx512"},
    {"GAUDI_2", "gaudi-2"},
    {"GAUDI_3", "gaudi-3"},
    {"GH200_144GB", "gh200-144gb"},
    {"GH200_96GB", "gh200-96gb"},
    {"H20", "h20"},
    {"L40", "l40"},
    {"MI250X", "mi250x"},
    {"RTX_3090", "rtx-3090"},
    {"RTX_5090", "rtx-5090"},
    {"TPU_V5E", "tpu-v5e"},
    {"TPU_V5P", "tpu-v5p"},
    {"TPU_V7", "tpu-v7"},
    {"V100_SXM_32GB", "v100-sxm-32gb"},
};
constexpr Alias kEngines[] = {
    {"vLLM", "vllm"}, {"SGLang", "sglang"}, {"TensorRT-LLM", "trtllm"}};
// Libraries whose tables name no version, and tools that measure kernels of no
// engine.
constexpr Alias kLibraries[] = {
    {"AITER", "aiter"}, {"CUTLASS", "cutlass"}, {"torch.profiler", "pytorch"}};

struct NamedFormat {
  const char* type;
  const char* quantization;  // How it begins.
  Format format;
};
constexpr NamedFormat kFormats[] = {
    {"fp32", "none", Format::kFp32},
    {"fp16", "none", Format::kFp16},
    {"bf16", "", Format::kBf16},
    {"fp8", "block128", Format::kFp8Block},
    {"fp8", "per_t", Format::kFp8E4m3},
    {"int8", "", Format::kInt8},
    {"int4", "weight_only", Format::kInt4},
    {"fp4", "nvfp4", Format::kNvfp4},
    {"fp4", "mxfp4", Format::kMxfp4},
};

std::optional<Format> FormatNamed(absl::string_view type,
                                  absl::string_view quantization) {
  for (const NamedFormat& named : kFormats) {
    if (type == named.type &&
        absl::StartsWith(quantization, named.quantization)) {
      return named.format;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::string_view HardwareId(absl::string_view device) {
  for (const Alias& alias : kDevices) {
    if (device == alias.table) return alias.here;
  }
  return "";
}

absl::string_view TableDevice(absl::string_view hardware) {
  for (const Alias& alias : kDevices) {
    if (hardware == alias.here) return alias.table;
  }
  return "";
}

absl::string_view EngineId(absl::string_view framework) {
  for (const Alias& alias : kEngines) {
    if (framework == alias.table) return alias.here;
  }
  return "";
}

std::string StackId(absl::string_view framework, absl::string_view version) {
  for (const Alias& alias : kEngines) {
    if (framework == alias.table && !version.empty()) {
      return absl::StrCat(alias.here, "-", absl::StripSuffix(version, ".0"));
    }
  }
  for (const Alias& alias : kLibraries) {
    if (framework == alias.table) return alias.here;
  }
  return "";
}

std::optional<RowFormats> FormatsOf(const FormatNames& names) {
  const std::optional<Format> input =
      FormatNamed(names.input, names.quantization);
  const std::optional<Format> weights =
      FormatNamed(names.weights, names.quantization);
  const std::optional<Format> output = FormatNamed(names.output, "none");
  if (!input || !weights || !output) return std::nullopt;
  RowFormats formats{*input, *weights, *output, false};
  if (names.scope == "act_quant+gemm") {
    formats.quantizes = true;
  } else if (names.scope != "gemm") {
    return std::nullopt;
  }
  return formats;
}

std::string FormatsText(const RowFormats& formats) {
  std::string text(TraitsOf(formats.input).name);
  if (formats.weights != formats.input) {
    absl::StrAppend(&text, " x ", TraitsOf(formats.weights).name);
  }
  if (formats.quantizes) absl::StrAppend(&text, " + quantize");
  return text;
}

std::optional<Format> FormatOfType(absl::string_view type) {
  if (type == "fp8") return Format::kFp8E4m3;
  return FormatNamed(type, "none");
}

}  // namespace mansard::calibrate
