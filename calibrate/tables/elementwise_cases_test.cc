#include "calibrate/tables/elementwise_cases.h"

#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

constexpr char kTable[] =
    "device,op,dtype_in,dtype_out,rows,cols,latency_us,framework,"
    "framework_version,kernel,source,license\n"
    "H100_SXM,fused_add_rmsnorm,bf16,bf16,4,1024,3,vLLM,0.19.0,k,o/r@1:p,MIT\n"
    "H100_SXM,silu_and_mul,fp16,fp16,4,1024,3,vidur-profiler,,k,o/r@1:p,MIT\n"
    "H100_SXM,pow,fp32,fp32,4,1024,3,PyTorch,,k,o/r@1:p,MIT\n"
    "H100_SXM,fp8_scale_and_cast,bf16,fp8,4,1024,3,vLLM,0.24.0,k,o/r@1:p,MIT\n"
    "H100_SXM,rmsnorm,bf16,bf16,0,1024,3,vLLM,0.24.0,k,o/r@1:p,MIT\n";

TEST(ElementwiseCases, OpsMoveWhatTheTableSays) {
  const auto cases = ReadElementwiseCases(kTable);
  ASSERT_TRUE(cases.ok()) << cases.status().message();
  ASSERT_EQ(cases->size(), 4u);  // Without rows there is no kernel.
  const model::ShippedData data = *model::LoadShippedData();
  const model::HardwareProfile& h100 = *data.profiles.at("h100-sxm");
  const auto ops = [&](size_t i) {
    return (*cases)[i].ops(h100.device(), h100.stacks().front());
  };
  // Two tensors of 4 x 1024 x 2 bytes in, two out.
  EXPECT_DOUBLE_EQ((*ops(0))[0].work.activations().value(), 4 * 8192.0);
  // 2 x columns in, columns out.
  EXPECT_DOUBLE_EQ((*ops(1))[0].work.activations().value(), 3 * 8192.0);
  EXPECT_FALSE(ops(2).has_value());
  // And a scale of the tensor, in fp32.
  EXPECT_DOUBLE_EQ((*ops(3))[0].work.activations().value(), 8192.0 + 4096 + 4);
  EXPECT_EQ((*cases)[0].slice, "fused_add_rmsnorm bf16");
  EXPECT_EQ(UseOfSlice((*cases)[1].slice), model::ElementwiseUse::kActivation);
  EXPECT_FALSE(UseOfSlice((*cases)[2].slice).has_value());
}

}  // namespace
}  // namespace mansard::calibrate
