#include "calibrate/fit/host_costs.h"

#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

// 5.2 us a sequence, vLLM's 1.06 times that; .5 us a prompt's token.
TEST(EngineHostCost, IsTheEnginesWhateverTheVersion) {
  struct Case {
    const char* stack;
    double request_us;
  };
  for (const Case& test :
       {Case{"vllm-0.14", 5.5}, Case{"vllm-0.24", 5.5},
        Case{"sglang-0.5.14", 5.2}, Case{"trtllm-1.3.0rc20", 5.2}}) {
    const auto host = EngineHostCost(test.stack);
    ASSERT_TRUE(host.has_value()) << test.stack;
    EXPECT_NEAR(ToMicroseconds(host->request), test.request_us, 1e-9);
    EXPECT_NEAR(ToMicroseconds(host->prefill_token), .5, 1e-9);
    EXPECT_GT(host->eager_launch, model::Seconds::Zero());
    EXPECT_TRUE(host->cuda_graphs);
    EXPECT_FALSE(host->provenance.source.empty());
  }
}

TEST(EngineHostCost, WhatIsNoEngineHasNone) {
  for (const char* stack : {"generic", "generic-measured", "scaled-h100", ""}) {
    EXPECT_FALSE(EngineHostCost(stack).has_value()) << stack;
  }
}

TEST(EngineHostCost, StandsInEveryShippedStackOfAnEngine) {
  const auto data = model::LoadShippedData();
  ASSERT_TRUE(data.ok()) << data.status().message();
  int checked = 0;
  for (const auto& [hardware, profile] : data->profiles) {
    for (const model::KernelStack& stack : profile->stacks()) {
      const auto host = EngineHostCost(stack.spec().id);
      if (!host.has_value()) continue;
      ++checked;
      EXPECT_EQ(stack.spec().host.request, host->request)
          << hardware << " " << stack.spec().id;
      EXPECT_EQ(stack.spec().host.provenance.source, host->provenance.source)
          << hardware << " " << stack.spec().id;
    }
  }
  EXPECT_GT(checked, 20);
}

}  // namespace
}  // namespace mansard::calibrate
