#include "calibrate/fit/expert_plan.h"

#include "gtest/gtest.h"
#include "model/base/violations.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

class ExpertPlanTest : public ::testing::Test {
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
  measured.framework = "vLLM";
  measured.slice = slice;
  return measured;
}

// Every prior makes a valid stack, and what is free belongs to it.
TEST_F(ExpertPlanTest, PriorsMakeStacks) {
  for (const char* id : {"a100-sxm-80gb", "h100-sxm", "b200-sxm",
                         "rtx-pro-6000", "mi300x", "mi355x"}) {
    const model::HardwareProfile& hardware = profile(id);
    const auto plans = ExpertPlans(hardware.device(), Row("bf16"));
    ASSERT_EQ(plans.size(), 3u);
    for (const FitPlan& plan : plans) {
      EXPECT_EQ(plan.name, plans[0].name);
      ASSERT_EQ(plan.slots.size(), 2u);
      model::KernelStackSpec spec = hardware.stacks().front().spec();
      for (const FitSlot& slot : plan.slots) {
        ASSERT_TRUE(Place(slot, spec).ok()) << slot.op_kind;
        for (const FreeParameter& free : slot.free) {
          const auto value = ParameterOf(slot.prior, free.name);
          ASSERT_TRUE(value.has_value()) << free.name;
          EXPECT_GT(*value, 0) << free.name;
        }
      }
      spec.fusion.foreign_expert_rows = *plan.foreign_expert_rows;
      model::Violations violations;
      EXPECT_TRUE(
          model::KernelStack::Create(std::move(spec), violations).has_value())
          << violations.ToStatus();
    }
  }
}

TEST_F(ExpertPlanTest, SlicesSayTheWeights) {
  const model::Device& device = profile("b200-sxm").device();
  const std::pair<const char*, const char*> slices[] = {
      {"bf16", "bf16"},
      {"fp8-block", "fp8-block"},
      {"bf16 x int4", "int4"},
      {"mxfp8 x mxfp4", "mxfp4"}};
  for (const auto& [slice, weights] : slices) {
    const auto plans = ExpertPlans(device, Row(slice));
    ASSERT_FALSE(plans.empty()) << slice;
    EXPECT_EQ(plans[0].slots[0].precision, weights);
    EXPECT_EQ(plans[0].slots[1].precision, weights);
  }
  // Another kernel's rows, and formats that few run together.
  EXPECT_TRUE(ExpertPlans(device, Row("bf16, triton")).empty());
  EXPECT_TRUE(ExpertPlans(device, Row("fp8-e4m3 x mxfp4")).empty());
}

// Beside the family of the same weights with narrow inputs, under another id.
TEST_F(ExpertPlanTest, WidenedWeightsHaveAFamilyOfTheirOwn) {
  const model::Device& device = profile("b200-sxm").device();
  const auto wide = ExpertPlans(device, Row("bf16 x mxfp4"));
  const auto narrow = ExpertPlans(device, Row("mxfp8 x mxfp4"));
  ASSERT_FALSE(wide.empty());
  ASSERT_EQ(wide[0].slots.size(), 1u);
  EXPECT_EQ(wide[0].slots[0].op_kind, "widened_experts");
  EXPECT_EQ(wide[0].slots[0].precision, "mxfp4");
  EXPECT_NE(wide[0].name, narrow[0].name);
  EXPECT_NE(model::FactsOf(wide[0].slots[0].prior).id,
            model::FactsOf(narrow[0].slots[0].prior).id);
}

TEST_F(ExpertPlanTest, ForeignRowsAreAShare) {
  for (const char* id : {"a100-sxm-80gb", "h100-sxm", "b200-sxm"}) {
    const model::Device& device = profile(id).device();
    EXPECT_EQ(ForeignExpertRows(device, "TensorRT-LLM"), 0);
    for (const char* framework : {"vLLM", "SGLang"}) {
      EXPECT_GT(ForeignExpertRows(device, framework), 0);
      EXPECT_LE(ForeignExpertRows(device, framework), 1);
    }
  }
}

}  // namespace
}  // namespace mansard::calibrate
