#include "calibrate/cuda/numbers.h"

#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"

namespace mansard::calibrate {
namespace {

using model::Format;

// Of a binary format with so many bits of exponent and mantissa; infinities and
// NaN where the exponent is full and the format has them.
double DecodeFloat(uint32_t bits, int exponent_bits, int mantissa_bits,
                   bool ieee) {
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent =
      static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double sign =
      (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int full = (1 << exponent_bits) - 1;
  if (ieee && exponent == full) return std::nan("");
  if (exponent == 0) {
    return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  }
  return sign * std::ldexp(mantissa + (1u << mantissa_bits),
                           exponent - bias - mantissa_bits);
}

// The commonest formats are a float of this host's, or its upper half.
double DecodeHost(uint32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

double DecodeOne(Format format, uint32_t bits) {
  if (format == Format::kBf16) return DecodeHost(bits << 16);
  if (format == Format::kFp16) return DecodeFloat(bits, 5, 10, true);
  if (format == Format::kInt8) return static_cast<int8_t>(bits);
  if (format == Format::kNvfp4) return DecodeFloat(bits, 2, 1, false);
  if (format == Format::kFp8E4m3) {
    // All ones but the sign are its only NaN.
    return (bits & 0x7f) == 0x7f ? std::nan("")
                                 : DecodeFloat(bits, 4, 3, false);
  }
  return DecodeHost(bits);
}

}  // namespace

int64_t StoredBytes(Format format, int64_t count) {
  return (count * model::TraitsOf(format).element_bits + 7) / 8;
}

std::vector<double> Decode(Format format, const std::vector<uint8_t>& stored,
                           int64_t count) {
  const size_t width =
      static_cast<size_t>(model::TraitsOf(format).element_bits);
  std::vector<double> numbers;
  numbers.reserve(static_cast<size_t>(count));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    uint32_t bits = 0;
    if (width < 8) {
      bits = stored[i * width / 8] >> (i * width % 8) & ((1u << width) - 1);
    } else {
      std::memcpy(&bits, &stored[i * width / 8], width / 8);
    }
    numbers.push_back(DecodeOne(format, bits));
  }
  return numbers;
}

absl::StatusOr<std::vector<double>> ReadNumbers(Gpu& gpu, const void* from,
                                                Format format, int64_t first,
                                                int64_t count) {
  std::vector<uint8_t> stored(static_cast<size_t>(StoredBytes(format, count)));
  RETURN_IF_ERROR(
      gpu.Read(static_cast<const char*>(from) + StoredBytes(format, first),
               stored.data(), static_cast<int64_t>(stored.size())));
  return Decode(format, stored, count);
}

absl::Status CheckNear(absl::string_view place, double value, double reference,
                       double tolerance) {
  if (std::abs(value - reference) <= tolerance) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrFormat("%s is %.9g, must be %.9g", place, value, reference));
}

double ToleranceOf(double reference, double size, double share) {
  constexpr double kRounding = 0x1p-8;
  return kRounding * std::abs(reference) + share * size + 1e-6;
}

int64_t CheckedPlaces::Below(int64_t count) {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<int64_t>((z ^ (z >> 31)) % static_cast<uint64_t>(count));
}

}  // namespace mansard::calibrate
