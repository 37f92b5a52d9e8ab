#include "calibrate/fit/decode_plan.h"

#include <set>

#include "gtest/gtest.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

using model::Format;

class DecodePlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto data = model::LoadShippedData();
    ASSERT_TRUE(data.ok()) << data.status();
    data_ = *std::move(data);
  }
  const model::HardwareProfile& profile(const char* id) const {
    return *data_.profiles.at(id);
  }
  model::ShippedData data_;
};

MeasuredCase Row(const std::string& slice) {
  MeasuredCase measured;
  measured.slice = slice;
  return measured;
}

// Every prior can stand in a stack, and what is free belongs to it.
TEST_F(DecodePlanTest, PriorsCanStandInAStack) {
  for (const char* id : {"a100-sxm-80gb", "l40s", "h100-sxm", "h20", "b200-sxm",
                         "rtx-pro-6000", "mi300x"}) {
    const model::HardwareProfile& hardware = profile(id);
    for (const char* slice : {"bf16", "bf16 kv fp8"}) {
      std::vector<FitPlan> plans = DecodePlans(hardware.device(), Row(slice));
      EXPECT_EQ(plans.size(), 3u);
      for (const FitPlan& plan : LatentDecodePlans(
               hardware.device(), Row(std::string("decode ") + slice))) {
        plans.push_back(plan);
      }
      EXPECT_EQ(plans.size(), 7u);
      for (const FitPlan& plan : plans) {
        ASSERT_EQ(plan.slots.size(), 1u);
        model::KernelStackSpec spec = hardware.stacks().front().spec();
        ASSERT_TRUE(Place(plan.slots[0], spec).ok());
        auto& family = plan.slots[0].prior;
        for (const FreeParameter& free : plan.slots[0].free) {
          const auto value = ParameterOf(family, free.name);
          ASSERT_TRUE(value.has_value()) << free.name;
          EXPECT_GT(*value, 0) << free.name;
        }
        EXPECT_EQ(std::get<model::SplitDecodeFamily>(family).splits.front(), 1);
      }
    }
  }
}

TEST_F(DecodePlanTest, RowsOfOneFormatAreOneFit) {
  const model::Device& device = profile("h100-sxm").device();
  std::set<std::string> names;
  for (const FitPlan& plan : DecodePlans(device, Row("bf16"))) {
    names.insert(plan.name);
  }
  EXPECT_EQ(names.size(), 1u);
  names.insert(DecodePlans(device, Row("bf16 kv fp8"))[0].name);
  names.insert(LatentDecodePlans(device, Row("decode bf16"))[0].name);
  EXPECT_EQ(names.size(), 3u);
}

TEST_F(DecodePlanTest, FallbacksAndModulesHaveNone) {
  const model::Device& device = profile("h100-sxm").device();
  EXPECT_TRUE(DecodePlans(device, Row("bf16, triton")).empty());
  EXPECT_TRUE(DecodePlans(device, Row("fp16")).empty());
  EXPECT_TRUE(LatentDecodePlans(device, Row("prefill bf16")).empty());
  EXPECT_TRUE(
      LatentDecodePlans(device, Row("decode module bfloat16, bf16")).empty());
}

// The kernels differ where the rows tell them apart.
TEST_F(DecodePlanTest, RatesScaleToTheDevice) {
  const auto on = [&](const char* id, double bytes) {
    return DecodePriors(profile(id).device(), bytes)[0];
  };
  const auto h100 = on("h100-sxm", 2);
  const auto h200 = on("h200-sxm", 2);
  EXPECT_NEAR(h200.part_feed / h100.part_feed, 4.8 / 3.35, 1e-9);
  EXPECT_EQ(h200.launch, h100.launch);
  EXPECT_LT(on("h100-sxm", 1).part_feed, h100.part_feed);
  const auto kernels = DecodePriors(profile("h100-sxm").device(), 2);
  EXPECT_EQ(kernels[1].group_limit, 32);
  EXPECT_EQ(kernels[2].window_group_limit, 1);
  EXPECT_EQ(LatentDecodePriors(profile("h100-sxm").device())[3].splits.size(),
            1u);
}

}  // namespace
}  // namespace mansard::calibrate
