// Matrix products on the roofline, after the literature's worked numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/literature/literature_server.h"

namespace mansard::testing {
namespace {

std::string GemmText(double m, double n, double k,
                     const std::string& precision = "") {
  const auto text = [](double value) {
    return absl::StrCat(static_cast<int64_t>(value));
  };
  return absl::StrCat("target { precision { ", precision,
                      " } } gemm { m: ", text(m), " n: ", text(n),
                      " k: ", text(k), " }");
}

bool ComputeBound(const v1::EstimateKernelResponse& response) {
  return response.ops(0).limiting_resource() == "tensor";
}

TEST(Literature, RidgePoints) {
  const struct {
    double flops, bytes, ridge, tolerance;
  } kCases[] = {
      {9.89e14, 3.35e12, 295, 0.5},  // H100
      {3e14, 2e12, 150, 1e-9},
      {2.8e14, 1.8e12, 155.6, 0.05},  // Measured.
      {1.97e14, 8.2e11, 240, 0.5},    // TPU v5e
  };
  for (const auto& c : kCases) {
    const LiteratureHardware hardware{
        .tensor_rates = {{model::Format::kBf16, c.flops}},
        .hbm_bytes_per_second = c.bytes};
    EXPECT_NEAR(Ask(hardware, GemmText(1, 1, 1)).ridge_flops_per_byte(),
                c.ridge, c.tolerance);
  }
}

// B tokens through a matrix so large, 2^20 squared, that activations are next
// to nothing: up to one part in 2^20 / (2 x ridge).
TEST(Literature, CriticalBatchOfALargeMatrix) {
  const double size = 1 << 20;
  const struct {
    LiteratureHardware hardware;
    const char* precision;
    double batch;  // The literature's.
  } kCases[] = {
      {TpuV5e(), R"(weights: "int8" activations: "int8")", 240},
      {TpuV5e(), R"(weights: "int8" activations: "bf16")", 120},
      {TpuV5e(), "", 240},
      {H100(), "", 295},
  };
  for (const auto& c : kCases) {
    EXPECT_FALSE(ComputeBound(
        Ask(c.hardware, GemmText(c.batch, size, size, c.precision))))
        << c.precision << c.batch;
    EXPECT_TRUE(ComputeBound(
        Ask(c.hardware, GemmText(c.batch + 1, size, size, c.precision))))
        << c.precision << c.batch;
  }
}

// Bytes 2BD + DF + 2BF, without the int8 format's scales of four bytes an
// output, which the literature does not have.
TEST(Literature, ExactBytesMoveTheCriticalBatch) {
  const auto critical = [](double size) {
    // How far the memory's time is ahead at a batch; linear in it.
    const auto ahead = [size](double batch) {
      const auto response =
          Ask(TpuV5e(), GemmText(batch, size, size,
                                 R"(weights: "int8" activations: "bf16")"));
      const double bytes = Bytes(response) - 4 * size;
      EXPECT_NEAR(bytes, 2 * batch * size + size * size + 2 * batch * size,
                  1e-6);
      return bytes / 8.2e11 - Busy(response, "tensor");
    };
    double low = 1;
    double high = 1024;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (ahead(middle) > 0 ? low : high) = middle;
    }
    const double at_low = ahead(low);
    return low + at_low / (at_low - ahead(high));
  };
  const double large = critical(4096);
  const double small = critical(1024);
  EXPECT_NEAR(large, 136.1, 0.05);
  EXPECT_NEAR(small, 226.3, 0.05);
  EXPECT_NEAR(small / large, 1.66, 0.005);
}

// The literature counts 2N - 1 operations: N products and N - 1 sums. A
// multiply-add is two here, so 2N; the limit is the same, 1/2.
TEST(Literature, DotProduct) {
  for (double n : {16.0, 1024.0, 1e9}) {
    const auto response = Ask(TpuV5e(), GemmText(1, 1, n));
    EXPECT_EQ(response.ops(0).work().flops(), 2 * n);
    EXPECT_EQ(Bytes(response), 4 * n + 2);
    EXPECT_NEAR(response.arithmetic_intensity_flops_per_byte(),
                2 * n / (4 * n + 2), 1e-12);
  }
  EXPECT_NEAR(
      Ask(TpuV5e(), GemmText(1, 1, 1e9)).arithmetic_intensity_flops_per_byte(),
      0.5, 1e-8);
}

// int8 matrices of their own for each element of the batch: no reuse, two
// operations for each byte of weights.
TEST(Literature, OneMatrixForEachElementOfTheBatch) {
  const auto response = Ask(TpuV5e(), R"pb(
    target { precision { weights: "int8" activations: "int8" } }
    gemm { m: 1 n: 16384 k: 16384 batch_count: 64 }
  )pb");
  EXPECT_NEAR(response.arithmetic_intensity_flops_per_byte(), 2, 0.002);
  EXPECT_FALSE(ComputeBound(response));
}

// Both operands split along D: each chip multiplies B x D/2 by D/2 x F, and the
// partial sums of 2BF bytes are reduced. Of two, each sends all of its part
// once: 2 (n - 1) / n = 1. Compared: tensor time of one chip's product against
// link time of the reduction.
TEST(Literature, TwoChipsAreComputeBoundAboveAWidth) {
  const auto ahead = [](double width, double batch) {
    constexpr double kF = 4096;
    const auto product = Ask(TpuV5e(), GemmText(batch, kF, width / 2));
    const auto reduction =
        Ask(TpuV5e(), absl::StrCat("collective { collective: \"all_reduce\" "
                                   "rank_count: 2 message_bytes: ",
                                   2 * batch * kF, " }"));
    EXPECT_NEAR(Busy(reduction, "nvlink"), reduction.floor_seconds(), 1e-12);
    return Busy(product, "tensor") / Busy(reduction, "nvlink");
  };
  for (double batch : {16.0, 1024.0, 65536.0}) {
    EXPECT_LT(ahead(8754, batch), 1);
    EXPECT_GT(ahead(8756, batch), 1);
    EXPECT_NEAR(8754 / ahead(8754, batch), 8755.6, 0.05);
  }
}

// bm x bn tiles read bm + bn elements for each step along k: bm bn / (bm + bn)
// operations a byte, at two bytes an element. Outputs cross once; k = 1e8 makes
// them nothing.
TEST(Literature, TilesSetTheIntensityAtL2) {
  const struct {
    double rows, columns;
  } kTiles[] = {{128, 128}, {128, 256}, {64, 256}};
  for (const auto& tile : kTiles) {
    LiteratureHardware hardware = H100();
    hardware.tile_rows = tile.rows;
    hardware.tile_columns = tile.columns;
    hardware.l2_feed_bytes_per_second = 1e12;
    const auto response = Ask(hardware, GemmText(1024, 1024, 1e8));
    const double l2_bytes = Busy(response, "l2") * 1e12;
    EXPECT_NEAR(response.ops(0).work().flops() / l2_bytes,
                tile.rows * tile.columns / (tile.rows + tile.columns), 1e-3);
  }
}

// T_lower = max, T_upper = sum: at most n times apart for n terms.
TEST(Literature, OverlapIsWorthAtMostAFactorOfTheTerms) {
  const std::string text = GemmText(512, 4096, 4096);
  LiteratureHardware hardware = H100();
  hardware.l2_feed_bytes_per_second = 1e12;
  const auto first = Ask(hardware, text);
  const double l2_bytes = Busy(first, "l2") * 1e12;
  // Rates at which each term takes a millisecond.
  hardware.tensor_rates[model::Format::kBf16] =
      first.ops(0).work().flops() / 1e-3;
  hardware.hbm_bytes_per_second = Bytes(first) / 1e-3;
  hardware.l2_feed_bytes_per_second = l2_bytes / 1e-3;
  const auto three = Ask(hardware, text);
  EXPECT_NEAR(three.overlapped_seconds(), 1e-3, 1e-12);
  EXPECT_NEAR(three.serial_seconds(), 3e-3, 1e-12);
  hardware.l2_feed_bytes_per_second = 1e24;
  const auto two = Ask(hardware, text);
  EXPECT_NEAR(two.overlapped_seconds(), 1e-3, 1e-12);
  EXPECT_NEAR(two.serial_seconds(), 2e-3, 1e-12);
  for (const auto& response : {two, three}) {
    EXPECT_LE(response.overlapped_seconds(), response.time_seconds());
    EXPECT_LE(response.time_seconds(), response.serial_seconds());
  }
}

}  // namespace
}  // namespace mansard::testing
