#include "calibrate/judge/targets.h"

#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

TEST(Targets, AreByTableDeviceAndSlice) {
  struct {
    const char* table;
    const char* device;
    const char* slice;
    double error;  // 0: none.
  } cases[] = {
      {"gemm", "H100_SXM", "bf16", .06},
      {"gemm", "H200_SXM", "bf16", .06},
      {"gemm", "B200_SXM", "bf16", .08},
      {"gemm", "B200_SXM", "bf16 x int8", 0},
      {"gemm", "H100_SXM", "fp8-e4m3 + quantize", .06},
      {"gemm", "H100_SXM", "fp8-block + quantize", .11},
      {"gemm", "H100_SXM", "fp8-block", .11},
      {"gemm", "B200_SXM", "nvfp4 + quantize", .11},
      {"gemm", "B200_SXM", "fp32", 0},
      {"attention_decode", "H100_SXM", "bf16 kv fp8", .10},
      {"collectives", "H100_SXM", "all_reduce nvlink x8", .10},
      {"collectives", "H100_SXM", "all_reduce rdma x16/2", .15},
      {"collectives", "RTX_PRO_6000_SERVER", "all_reduce pcie x4", 0},
      {"elementwise_norm", "H100_SXM", "bf16", 0},
  };
  for (const auto& one : cases) {
    const auto target = TargetFor(one.table, one.device, one.slice);
    EXPECT_EQ(target.has_value(), one.error > 0) << one.slice;
    if (target.has_value()) {
      EXPECT_EQ(target->error, one.error) << one.device << " " << one.slice;
    }
  }
}

}  // namespace
}  // namespace mansard::calibrate
