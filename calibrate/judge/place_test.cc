#include "calibrate/judge/place.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/toy/toy_measured.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

TEST(Versions, CompareByNumbers) {
  struct {
    const char* older;
    const char* newer;
  } cases[] = {{"0.9", "0.19"},           {"0.19", "0.24"},
               {"1.3.0rc2", "1.3.0rc15"}, {"1.2.9", "1.3.0rc1"},
               {"0.5", "0.5.1"},          {"1.007", "1.8"}};
  for (const auto& [older, newer] : cases) {
    EXPECT_TRUE(IsOlder(older, newer)) << older << " " << newer;
    EXPECT_FALSE(IsOlder(newer, older)) << older << " " << newer;
  }
  EXPECT_FALSE(IsOlder("0.24", "0.24"));
}

TEST(Place, ChoosesTheStack) {
  const model::ShippedData data = ToyData(
      {"generic", "vllm-0.24", "vllm-0.9", "aiter", "generic-measured"});
  struct {
    const char* framework;
    const char* version;
    PlaceOptions options;
    const char* stack;
    bool stands_in;
  } cases[] = {
      {"vLLM", "0.24.0", {}, "vllm-0.24", false},
      {"vLLM", "0.9.0", {}, "vllm-0.9", false},
      {"vLLM", "", {}, "vllm-0.24", true},
      // Another version is no better than any other software.
      {"vLLM", "0.30.0", {}, "generic", false},
      {"SGLang", "0.5.14", {}, "generic", false},
      {"SGLang", "", {}, "generic", false},
      {"AITER", "", {}, "aiter", false},
      {"NCCL", "2.29.2", {}, "generic-measured", false},
      {"", "", {}, "generic-measured", false},
      {"vLLM", "0.24.0", {.stack = "vllm-0.9"}, "vllm-0.9", false},
      {"vLLM", "0.24.0", {.spec_tier = true}, "generic", false},
      {"NCCL", "", {.spec_tier = true}, "generic", false},
  };
  for (const auto& one : cases) {
    const Placement place =
        PlaceOf("H100_SXM", one.framework, one.version, data, one.options);
    ASSERT_NE(place.stack, nullptr) << one.framework;
    EXPECT_EQ(place.stack->spec().id, one.stack)
        << one.framework << " " << one.version;
    EXPECT_EQ(place.stands_in, one.stands_in)
        << one.framework << " " << one.version;
  }
}

TEST(Place, WithoutAMeasuredStackIsTheFirst) {
  const model::ShippedData data = ToyData({"generic", "vllm-0.24"});
  const Placement place = PlaceOf("H100_SXM", "NCCL", "", data, {});
  EXPECT_EQ(place.stack->spec().id, "generic");
}

TEST(Place, FindsTheHardware) {
  const model::ShippedData data = ToyData({"generic"});
  EXPECT_NE(PlaceOf("H100_SXM", "", "", data, {}).profile, nullptr);
  EXPECT_NE(PlaceOf("h100-sxm", "", "", data, {}).profile, nullptr);
  EXPECT_EQ(PlaceOf("A100_SXM_80GB", "", "", data, {}).profile, nullptr);
  EXPECT_EQ(PlaceOf("ABACUS", "", "", data, {}).profile, nullptr);
  EXPECT_NE(PlaceOf("ABACUS", "", "", data, {.hardware = "h100-sxm"}).profile,
            nullptr);
  EXPECT_EQ(PlaceOf("H100_SXM", "", "", data, {.stack = "x"}).stack, nullptr);
}

TEST(Place, OptionsNameWhatIsThere) {
  const model::ShippedData data = ToyData({"generic", "vllm-0.24"});
  const auto message = [&data](const PlaceOptions& options) {
    return std::string(CheckOptions(data, options).message());
  };
  EXPECT_TRUE(CheckOptions(data, {}).ok());
  EXPECT_TRUE(CheckOptions(data, {.stack = "vllm-0.24"}).ok());
  EXPECT_THAT(message({.hardware = "x"}),
              HasSubstr("hardware: \"x\" is not in the catalog"));
  EXPECT_THAT(message({.stack = "x"}),
              HasSubstr("stack: no hardware in the catalog has \"x\""));
  EXPECT_THAT(message({.hardware = "h100-sxm", .stack = "x"}),
              HasSubstr("h100-sxm has no \"x\"; it has generic, vllm-0.24"));
}

}  // namespace
}  // namespace mansard::calibrate
