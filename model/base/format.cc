#include "model/base/format.h"

#include "absl/strings/str_cat.h"

namespace mansard::model {

constinit const std::array<FormatTraits, kFormatCount> kFormatTraits = {{
    // name, bits, scale, zero, rows, columns, activation columns, tensor
    {"fp32", 32, 0, 0, 0, 0, 0, 0},
    {"tf32", 32, 0, 0, 0, 0, 0, 0},
    {"bf16", 16, 0, 0, 0, 0, 0, 0},
    {"fp16", 16, 0, 0, 0, 0, 0, 0},
    {"fp8-e4m3", 8, 0, 0, 0, 0, 0, 32},
    {"fp8-e5m2", 8, 0, 0, 0, 0, 0, 32},
    {"fp8-block", 8, 32, 0, 128, 128, 128, 0},
    {"int8", 8, 32, 0, 1, 0, 0, 0},
    {"int4", 4, 16, 4, 1, 128, 128, 0},
    {"mxfp8", 8, 8, 0, 1, 32, 32, 0},
    {"mxfp4", 4, 8, 0, 1, 32, 32, 0},
    {"nvfp4", 4, 8, 0, 1, 16, 16, 32},
    {"int4-g64", 4, 16, 4, 1, 64, 64, 0},
    {"int4-g32", 4, 16, 4, 1, 32, 32, 0},
    {"int4-sym", 4, 16, 0, 1, 128, 128, 0},
    {"int4-g64-sym", 4, 16, 0, 1, 64, 64, 0},
    {"int4-g32-sym", 4, 16, 0, 1, 32, 32, 0},
    {"int8-g128", 8, 16, 8, 1, 128, 128, 0},
    {"int8-g64", 8, 16, 16, 1, 64, 64, 0},
}};

namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Blocks along one extent; block 0 is the whole extent.
int64_t Blocks(int64_t extent, int block) {
  if (extent == 0) return 0;
  return block == 0 ? 1 : CeilDivide(extent, block);
}

// Packed streams start at whole bytes.
Bytes Packed(int64_t elements, int element_bits, int64_t scales, int scale_bits,
             int zero_point_bits, int tensor_scale_bits) {
  const int64_t bytes = CeilDivide(elements * element_bits, 8) +
                        CeilDivide(scales * scale_bits, 8) +
                        CeilDivide(scales * zero_point_bits, 8) +
                        tensor_scale_bits / 8;
  return Bytes::Of(static_cast<double>(bytes));
}

}  // namespace

std::array<Format, kFormatCount> AllFormats() {
  std::array<Format, kFormatCount> all{};
  for (int i = 0; i < kFormatCount; ++i) all[i] = static_cast<Format>(i);
  return all;
}

std::optional<Format> ParseFormat(absl::string_view name) {
  if (name == "fp8") return Format::kFp8E4m3;
  for (Format format : AllFormats()) {
    if (TraitsOf(format).name == name) return format;
  }
  return std::nullopt;
}

std::string FormatNames() {
  std::string names;
  for (Format format : AllFormats()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", TraitsOf(format).name);
  }
  return names;
}

bool IsLowPrecision(Format format) {
  return TraitsOf(format).element_bits < 16;
}

Bytes WeightBytes(Format format, int64_t rows, int64_t columns) {
  const FormatTraits& traits = TraitsOf(format);
  const int64_t scales = Blocks(rows, traits.weight_scale_rows) *
                         Blocks(columns, traits.weight_scale_columns);
  return Packed(rows * columns, traits.element_bits, scales, traits.scale_bits,
                traits.zero_point_bits, traits.tensor_scale_bits);
}

Bytes ActivationBytes(Format format, int64_t rows, int64_t columns) {
  const FormatTraits& traits = TraitsOf(format);
  const int64_t scales =
      rows * Blocks(columns, traits.activation_scale_columns);
  return Packed(rows * columns, traits.element_bits, scales, traits.scale_bits,
                0, traits.tensor_scale_bits);
}

}  // namespace mansard::model
