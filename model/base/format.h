// Number formats and how many bytes they store, scales included.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "model/base/units.h"

namespace mansard::model {

enum class Format : uint8_t {
  kFp32,
  kTf32,
  kBf16,
  kFp16,
  kFp8E4m3,
  kFp8E5m2,
  kFp8Block,
  kInt8,
  kInt4,
  kMxfp8,
  kMxfp4,
  kNvfp4,
  // As int4 and int8, over other groups of columns; kInt4...Symmetric without
  // zero points.
  kInt4Group64,
  kInt4Group32,
  kInt4Symmetric,
  kInt4Group64Symmetric,
  kInt4Group32Symmetric,
  kInt8Group128,
  kInt8Group64,
};
inline constexpr int kFormatCount = 19;

// How a format lies in memory. Scales of a weight matrix [rows = output
// features, columns = input features] cover blocks of weight_scale_rows x
// weight_scale_columns; scales of an activation matrix [rows = tokens] cover
// one row and activation_scale_columns columns. 0: the whole extent.
struct FormatTraits {
  absl::string_view name;
  int element_bits;
  int scale_bits;       // One per block.
  int zero_point_bits;  // One per block; weights only.
  int weight_scale_rows;
  int weight_scale_columns;
  int activation_scale_columns;
  int tensor_scale_bits;  // One per tensor.
};

// Sources: fp8 per tensor and int8 per output channel / per token with an fp32
// scale (compressed-tensors); fp8-block 128x128 weights, 1x128 activations,
// fp32 (DeepSeek-V3 report, arXiv 2412.19437 §3.3); int4 groups of 128 with an
// fp16 scale and a 4-bit zero point (GPTQ / AWQ checkpoints), int4-g64 and
// int4-g32 of 64 and 32; int4-sym, int4-g64-sym and int4-g32-sym without zero
// points (compressed-tensors); int8-g128 with an 8-bit zero point (GPTQ);
// int8-g64 with an fp16 scale and offset (MLX); mxfp8 and mxfp4
// blocks of 32 with an 8-bit scale (OCP Microscaling v1.0); nvfp4 blocks of 16
// with an fp8 scale and an fp32 scale per tensor (NVIDIA NVFP4).
extern const std::array<FormatTraits, kFormatCount> kFormatTraits;
// Inline, as ElementBytes is: every op of every step asks.
inline const FormatTraits& TraitsOf(Format format) {
  return kFormatTraits[static_cast<size_t>(format)];
}

// All formats, in the enum's order.
std::array<Format, kFormatCount> AllFormats();

// By its name in the API; "fp8" is "fp8-e4m3". Empty where unknown.
std::optional<Format> ParseFormat(absl::string_view name);
// "fp32, tf32, bf16, ...", for error messages.
std::string FormatNames();

// Fewer than 16 bits an element.
bool IsLowPrecision(Format format);

// A weight matrix of `rows` output and `columns` input features, with scales.
// The last, partial blocks have their own scale. Exact, whole bytes.
Bytes WeightBytes(Format format, int64_t rows, int64_t columns);
// An activation matrix of `rows` tokens, with scales.
Bytes ActivationBytes(Format format, int64_t rows, int64_t columns);
// Elements alone: KV cache entries, vectors. May be fractional (int4).
inline Bytes ElementBytes(Format format, double count) {
  return Bytes::Of(count * TraitsOf(format).element_bits / 8.0);
}

}  // namespace mansard::model
