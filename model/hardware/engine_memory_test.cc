#include "model/hardware/engine_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace mansard::model {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string ViolationsOf(const EngineMemory& memory) {
  Violations violations;
  CheckEngineMemory(memory, violations);
  std::string text;
  for (const Violation& violation : violations.all()) {
    text += violation.field + " " + violation.description + "\n";
  }
  return text;
}

TEST(EngineMemory, DefaultsAndNothingAreLegal) {
  EXPECT_EQ(ViolationsOf({}), "");
}

TEST(EngineMemory, EveryRuleIsNamed) {
  const std::string text = ViolationsOf({.usable_fraction = 1.5,
                                         .framework = Bytes::Of(-1),
                                         .communication = Bytes::Of(kNan),
                                         .token_budget = 0,
                                         .sequence_limit = -1,
                                         .bytes_per_logit = -2,
                                         .fixed_workspace = Bytes::Infinity(),
                                         .block_tokens = 0,
                                         .mxfp4_width_multiple = 2000000000});
  for (const char* field :
       {"usable_ratio is 1.5", "framework_bytes is -1",
        "communication_bytes is nan", "max_batched_token_count is 0",
        "max_sequence_count is -1", "bytes_per_logit is -2",
        "fixed_workspace_bytes is inf", "block_token_count is 0",
        "mxfp4_width_multiple is 2000000000"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
}

Device DeviceOf(double gibibytes, const char* architecture) {
  const Provenance test{ProvenanceKind::kAssumed, "test", ""};
  DeviceSpec spec;
  spec.architecture = architecture;
  spec.hbm.capacity = {Gibibytes(gibibytes), test};
  spec.hbm.bandwidth = Sourced<BytesPerSecond>{GigabytesPerSecond(1000), test};
  spec.tensor_rates[static_cast<size_t>(Format::kBf16)] =
      Sourced<FlopsPerSecond>{TeraflopsPerSecond(1), test};
  Violations violations;
  return *Device::Create(std::move(spec), violations);
}

TEST(EngineMemory, LargestStepGoesByTheDevicesMemory) {
  const struct {
    double gibibytes;
    const char* architecture;
    int64_t tokens, sequences;
  } kCases[] = {{79.18, "Hopper sm_90", 8192, 1024},
                {70, "CDNA 3", 8192, 1024},
                {69.9, "Hopper sm_90", 2048, 256},
                {79.2, "Ampere sm_80", 2048, 256},
                {22, "Ada sm_89", 2048, 256}};
  for (const auto& c : kCases) {
    const EngineMemory memory =
        DefaultEngineMemory(DeviceOf(c.gibibytes, c.architecture));
    EXPECT_EQ(memory.token_budget, c.tokens) << c.architecture;
    EXPECT_EQ(memory.sequence_limit, c.sequences) << c.architecture;
    EXPECT_EQ(ViolationsOf(memory), "");
  }
}

TEST(EngineMemoryChoice, EveryRuleIsNamed) {
  Violations violations;
  CheckEngineMemoryChoice({}, violations);
  EXPECT_TRUE(violations.empty());
  CheckEngineMemoryChoice({.usable_fraction = 1.5,
                           .token_budget = 1'000'001,
                           .sequence_limit = 0,
                           .block_tokens = -1},
                          violations);
  std::string text;
  for (const Violation& violation : violations.all()) {
    text += violation.field + " " + violation.description + "\n";
  }
  for (const char* field :
       {"memory_utilization_ratio is 1.5", "max_batched_token_count is 1000001",
        "max_sequence_count is 0", "kv_block_token_count is -1"}) {
    EXPECT_THAT(text, HasSubstr(field));
  }
}

TEST(EngineMemoryChoice, TakesThePlaceOfTheStacks) {
  const EngineMemory stack = {.usable_fraction = 0.9,
                              .framework = Bytes::Of(5),
                              .token_budget = 8192,
                              .sequence_limit = 1024,
                              .block_tokens = 16};
  EngineMemory changed =
      WithChoice(stack, {.usable_fraction = 0.5, .token_budget = 2048});
  EXPECT_EQ(changed.usable_fraction, 0.5);
  EXPECT_EQ(changed.token_budget, 2048);
  EXPECT_EQ(changed.sequence_limit, 1024);
  EXPECT_EQ(changed.block_tokens, 16);
  EXPECT_EQ(changed.framework, Bytes::Of(5));
  changed = WithChoice(std::nullopt, {.block_tokens = 32});
  EXPECT_EQ(changed.usable_fraction, 1);
  EXPECT_EQ(changed.block_tokens, 32);
}

}  // namespace
}  // namespace mansard::model
