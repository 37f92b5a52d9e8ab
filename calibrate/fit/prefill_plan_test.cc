#include "calibrate/fit/prefill_plan.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "model/base/violations.h"
#include "model/io/shipped.h"

namespace mansard::calibrate {
namespace {

using model::TiledPrefillFamily;

class PrefillPlanTest : public ::testing::Test {
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

MeasuredCase Row(const std::string& framework, const std::string& slice) {
  MeasuredCase measured;
  measured.framework = framework;
  measured.slice = slice;
  return measured;
}

const TiledPrefillFamily& FamilyOf(const FitPlan& plan) {
  return std::get<TiledPrefillFamily>(plan.slots.at(0).prior);
}

// Every prior can stand in a stack, and what is free belongs to it.
TEST_F(PrefillPlanTest, PriorsCanStandInAStack) {
  for (const char* id : {"a100-sxm-80gb", "l40s", "h100-sxm", "b200-sxm",
                         "rtx-pro-6000", "mi300x"}) {
    const model::HardwareProfile& hardware = profile(id);
    std::vector<FitPlan> plans =
        PrefillPlans(hardware.device(), Row("vLLM", "bf16"));
    EXPECT_GE(plans.size(), 4u);
    for (const FitPlan& plan : LatentPrefillPlans(
             hardware.device(), Row("vLLM", "prefill bf16 kv fp8"))) {
      plans.push_back(plan);
    }
    EXPECT_GE(plans.size(), 8u);
    for (const FitPlan& plan : plans) {
      model::KernelStackSpec spec = hardware.stacks().front().spec();
      ASSERT_TRUE(Place(plan.slots.at(0), spec).ok());
      model::Violations violations;
      EXPECT_TRUE(model::KernelStack::Create(std::move(spec), violations))
          << violations.ToStatus();
      for (const FreeParameter& free : plan.slots[0].free) {
        const auto value = ParameterOf(plan.slots[0].prior, free.name);
        ASSERT_TRUE(value.has_value()) << free.name;
        EXPECT_GT(*value, 0) << free.name;
      }
    }
  }
}

// Exponentials take as long as with 16 bits: a smaller share of a higher rate.
TEST_F(PrefillPlanTest, NarrowArithmeticHasAFamilyOfItsOwn) {
  const model::Device& device = profile("h100-sxm").device();
  const auto narrow = PrefillPlans(device, Row("TensorRT-LLM", "fp8"));
  const auto wide = PrefillPlans(device, Row("TensorRT-LLM", "bf16 kv fp8"));
  ASSERT_EQ(narrow.size(), wide.size());
  EXPECT_EQ(narrow[0].slots[0].op_kind, "narrow_prefill");
  EXPECT_EQ(wide[0].slots[0].op_kind, "attention_prefill");
  EXPECT_EQ(narrow[0].slots[0].precision, wide[0].slots[0].precision);
  const char kHead[] = "peak_fraction_head_128_ratio";
  EXPECT_LT(*ParameterOf(narrow[0].slots[0].prior, kHead),
            *ParameterOf(wide[0].slots[0].prior, kHead));
  // No units for it.
  EXPECT_TRUE(PrefillPlans(profile("a100-sxm-80gb").device(),
                           Row("TensorRT-LLM", "fp8"))
                  .empty());
}

// Of other kernels and masks there is no family.
TEST_F(PrefillPlanTest, OnlyTheEnginesOwnKernels) {
  const model::Device& device = profile("h100-sxm").device();
  for (const char* slice : {"bf16, triton", "bf16, not causal", "fp8, triton",
                            "bf16 kv fp8, triton", "prefill bf16"}) {
    EXPECT_TRUE(PrefillPlans(device, Row("vLLM", slice)).empty()) << slice;
  }
  EXPECT_TRUE(LatentPrefillPlans(device, Row("vLLM", "decode bf16")).empty());
  // SGLang has prompts absorbed on Hopper.
  EXPECT_FALSE(LatentPrefillPlans(device, Row("vLLM", "prefill bf16")).empty());
  EXPECT_TRUE(
      LatentPrefillPlans(device, Row("SGLang", "prefill bf16")).empty());
}

// Decodes beside prompts are part of the prompts' kernel where one call serves
// both.
TEST_F(PrefillPlanTest, OneCallForMixedBatches) {
  const model::Device& graphics = profile("rtx-pro-6000").device();
  EXPECT_EQ(FamilyOf(PrefillPlans(graphics, Row("vLLM", "bf16"))[0])
                .decodes_as_prompts,
            1);
  EXPECT_EQ(FamilyOf(PrefillPlans(graphics, Row("TensorRT-LLM", "bf16"))[0])
                .decodes_as_prompts,
            0);
  const model::Device& hopper = profile("h100-sxm").device();
  EXPECT_EQ(
      FamilyOf(PrefillPlans(hopper, Row("vLLM", "bf16"))[0]).decodes_as_prompts,
      0);
}

TEST_F(PrefillPlanTest, RowsOfOneCacheAreOneFit) {
  const model::Device& device = profile("h100-sxm").device();
  std::set<std::string> names;
  for (const FitPlan& plan : PrefillPlans(device, Row("vLLM", "bf16"))) {
    names.insert(plan.name);
  }
  EXPECT_EQ(names.size(), 1u);
  names.insert(PrefillPlans(device, Row("vLLM", "bf16 kv fp8"))[0].name);
  names.insert(LatentPrefillPlans(device, Row("vLLM", "prefill bf16"))[0].name);
  EXPECT_EQ(names.size(), 3u);
}

}  // namespace
}  // namespace mansard::calibrate
