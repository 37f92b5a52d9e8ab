#include "calibrate/cuda/numbers.h"

#include <cmath>

#include "gtest/gtest.h"

#if __has_include(<cuda_fp8.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#endif

namespace mansard::calibrate {
namespace {

using model::Format;

double One(Format format, const std::vector<uint8_t>& stored) {
  return Decode(format, stored, 1).front();
}

TEST(Decode, KnownNumbers) {
  EXPECT_EQ(One(Format::kBf16, {0xc0, 0x3f}), 1.5);
  EXPECT_EQ(One(Format::kBf16, {0x80, 0xbf}), -1);
  EXPECT_EQ(One(Format::kFp16, {0x00, 0x3c}), 1);
  EXPECT_EQ(One(Format::kFp16, {0x01, 0x00}), 0x1p-24);
  EXPECT_EQ(One(Format::kFp8E4m3, {0x7e}), 448);
  EXPECT_EQ(One(Format::kFp8E4m3, {0x81}), -0x1p-9);
  EXPECT_EQ(One(Format::kInt8, {0x80}), -128);
  EXPECT_EQ(One(Format::kFp32, {0, 0, 0x20, 0xc1}), -10);
  EXPECT_EQ(Decode(Format::kNvfp4, {0x1f, 0x72}, 4),
            (std::vector<double>{-6, 0.5, 1, 6}));
  EXPECT_TRUE(std::isnan(One(Format::kBf16, {0xff, 0xff})));
  EXPECT_TRUE(std::isnan(One(Format::kFp8E4m3, {0xff})));
}

#if __has_include(<cuda_fp8.h>)
TEST(Decode, AgreesWithTheLibraryOnEveryCode) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const __half_raw half = __nv_cvt_fp8_to_halfraw(byte, __NV_E4M3);
    const double expected = __half2float(__half(half));
    const double decoded = One(Format::kFp8E4m3, {byte});
    EXPECT_TRUE(decoded == expected ||
                (std::isnan(decoded) && std::isnan(expected)))
        << code;
  }
  for (uint8_t code = 0; code < 16; ++code) {
    const __half_raw half = __nv_cvt_fp4_to_halfraw(code, __NV_E2M1);
    EXPECT_EQ(One(Format::kNvfp4, {code}), __half2float(__half(half)));
  }
  for (int code = 0; code < 0x10000; code += 7) {
    const std::vector<uint8_t> stored = {static_cast<uint8_t>(code & 255),
                                         static_cast<uint8_t>(code >> 8)};
    const auto bits = static_cast<uint16_t>(code);
    const double fp16 = __half2float(__half(__half_raw{bits}));
    const double bf16 =
        __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
    if (std::isfinite(fp16)) {
      EXPECT_EQ(One(Format::kFp16, stored), fp16) << code;
    }
    if (std::isfinite(bf16)) {
      EXPECT_EQ(One(Format::kBf16, stored), bf16) << code;
    }
  }
}
#endif

TEST(CheckNear, NothingIsNearNaN) {
  EXPECT_TRUE(CheckNear("x", 1.01, 1, 0.02).ok());
  EXPECT_FALSE(CheckNear("x", 1.03, 1, 0.02).ok());
  const absl::Status status = CheckNear("y[1, 2]", std::nan(""), 1, 1e9);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "y[1, 2] is nan, must be 1");
}

}  // namespace
}  // namespace mansard::calibrate
