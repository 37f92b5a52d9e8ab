#include "model/hardware/device.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void SetTensor(DeviceSpec& spec, Format format, double teraflops) {
  spec.tensor_rates[static_cast<size_t>(format)] = {
      TeraflopsPerSecond(teraflops), {}};
}

// The H100's numbers.
DeviceSpec ValidSpec() {
  DeviceSpec spec;
  spec.multiprocessor_count = {132, {}};
  spec.clock_hertz = {1830e6, {}};
  SetTensor(spec, Format::kTf32, 494.5);
  SetTensor(spec, Format::kBf16, 989);
  SetTensor(spec, Format::kFp16, 989);
  SetTensor(spec, Format::kFp8E4m3, 1979);
  SetTensor(spec, Format::kInt8, 1979);
  spec.vector_rates[static_cast<size_t>(Format::kFp32)] = {
      TeraflopsPerSecond(67), {}};
  spec.l2 = {.capacity = {Bytes::Of(52428800), {}}, .bandwidth = {}};
  spec.hbm = {.capacity = {Gigabytes(80), {}},
              .bandwidth = {{GigabytesPerSecond(3350), {}}}};
  return spec;
}

Device Make(DeviceSpec spec) {
  Violations violations;
  std::optional<Device> device = Device::Create(std::move(spec), violations);
  EXPECT_THAT(violations.ToStatus().ToString(), "OK");
  return *device;
}

struct BrokenDevice {
  const char* what;
  void (*breaks)(DeviceSpec&);
  const char* field;
  const char* description;
};

TEST(DeviceTest, NamesTheRuleThatIsBroken) {
  const BrokenDevice kCases[] = {
      {"no multiprocessors",
       [](DeviceSpec& s) { s.multiprocessor_count->value = 0; },
       "multiprocessor_count", "is 0; must be positive"},
      {"clock", [](DeviceSpec& s) { s.clock_hertz->value = kNaN; },
       "clock_hertz", "is nan"},
      {"no rate at all",
       [](DeviceSpec& s) {
         s.tensor_rates = {};
         s.vector_rates = {};
       },
       "peak_rates", "has no rate; one of unit \"tensor\" or \"vector\""},
      {"negative tensor rate",
       [](DeviceSpec& s) { SetTensor(s, Format::kFp8E4m3, -1); }, "peak_rates",
       "tensor fp8-e4m3 is -1e+12"},
      {"infinite vector rate",
       [](DeviceSpec& s) {
         s.vector_rates[static_cast<size_t>(Format::kFp32)]->value =
             FlopsPerSecond::Infinity();
       },
       "peak_rates", "vector fp32 is inf"},
      {"sfu",
       [](DeviceSpec& s) {
         s.special_function_rate = {FlopsPerSecond::Of(0), {}};
       },
       "special_functions_per_second", "is 0"},
      {"smem",
       [](DeviceSpec& s) { s.smem = {.capacity = {}, .bandwidth = {}}; },
       "memory_levels", "capacity_bytes of smem is 0"},
      {"l2 bandwidth of a denormal",
       [](DeviceSpec& s) {
         s.l2->bandwidth = {BytesPerSecond::Of(1e-310), {}};
       },
       "memory_levels", "bandwidth_bytes_per_second of l2 is 1e-310"},
      {"l2 bandwidth",
       [](DeviceSpec& s) {
         s.l2->bandwidth = {BytesPerSecond::Of(kInfinity), {}};
       },
       "memory_levels", "bandwidth_bytes_per_second of l2 is inf"},
      {"no hbm capacity",
       [](DeviceSpec& s) { s.hbm.capacity.value = Bytes::Zero(); },
       "memory_levels", "capacity_bytes of hbm is 0"},
      {"no hbm bandwidth", [](DeviceSpec& s) { s.hbm.bandwidth.reset(); },
       "memory_levels", "bandwidth_bytes_per_second of hbm is required"},
      {"power",
       [](DeviceSpec& s) {
         s.board_power_watts = {-700, {}};
       },
       "board_power_watts", "is -700"},
  };
  for (const BrokenDevice& test : kCases) {
    SCOPED_TRACE(test.what);
    DeviceSpec spec = ValidSpec();
    test.breaks(spec);
    Violations violations;
    EXPECT_FALSE(Device::Create(spec, violations));
    ASSERT_EQ(violations.all().size(), 1u) << violations.ToStatus();
    EXPECT_EQ(violations.all()[0].field, test.field);
    EXPECT_THAT(violations.all()[0].description, HasSubstr(test.description));
  }
}

TEST(DeviceTest, NamesAllBrokenRulesAtOnce) {
  Violations violations;
  EXPECT_FALSE(Device::Create(DeviceSpec(), violations));
  std::vector<std::string> fields;
  for (const Violation& violation : violations.all()) {
    fields.push_back(violation.field);
  }
  EXPECT_THAT(fields,
              ElementsAre("peak_rates", "memory_levels", "memory_levels"));
}

TEST(DeviceTest, GivesRatesAndSizes) {
  const Device device = Make(ValidSpec());
  EXPECT_EQ(device.TensorRate(Format::kBf16), TeraflopsPerSecond(989));
  EXPECT_EQ(device.VectorRate(), TeraflopsPerSecond(67));
  EXPECT_EQ(device.HbmBandwidth(), GigabytesPerSecond(3350));
  EXPECT_EQ(device.HbmCapacity(), Gigabytes(80));
  EXPECT_EQ(device.L2Capacity(), Bytes::Of(52428800));
  EXPECT_FALSE(device.HasTensor(Format::kNvfp4));
  EXPECT_EQ(device.TensorFormatNames(), "tf32, bf16, fp16, fp8-e4m3, int8");
  DeviceSpec without_l2 = ValidSpec();
  without_l2.l2.reset();
  EXPECT_EQ(Make(without_l2).L2Capacity(), Bytes::Zero());
}

TEST(DeviceTest, WhatNoSourceGivesIsEmpty) {
  DeviceSpec tensor_only = ValidSpec();
  tensor_only.multiprocessor_count.reset();
  tensor_only.vector_rates = {};
  EXPECT_FALSE(Make(tensor_only).VectorRate());
  EXPECT_THAT(Make(tensor_only).Lint(), IsEmpty());

  DeviceSpec vector_only = ValidSpec();
  vector_only.tensor_rates = {};
  const Device device = Make(vector_only);
  EXPECT_EQ(device.VectorRate(), TeraflopsPerSecond(67));
  EXPECT_EQ(device.TensorFormatNames(), "none");
  EXPECT_FALSE(device.ComputeFor(Format::kBf16, Format::kBf16));
  EXPECT_THAT(device.Lint(), IsEmpty());

  // No 16-bit rate to hold against the clock.
  DeviceSpec narrow = ValidSpec();
  narrow.tensor_rates = {};
  SetTensor(narrow, Format::kInt8, 1000);
  EXPECT_THAT(Make(narrow).Lint(), IsEmpty());
}

struct ComputeCase {
  Format weights;
  Format activations;
  std::optional<Format> unit;  // Empty: unsupported.
  bool weight_only;
};

TEST(DeviceTest, PicksTheTensorUnitByTheActivations) {
  using enum Format;
  const ComputeCase kCases[] = {
      {kBf16, kBf16, kBf16, false},
      {kFp16, kFp16, kFp16, false},
      {kTf32, kTf32, kTf32, false},
      {kBf16, kTf32, kTf32, true},
      // No fp32 tensor unit.
      {kFp32, kFp32, std::nullopt, false},
      // 16-bit activations compute in their own format.
      {kInt4, kBf16, kBf16, true},
      {kMxfp4, kFp16, kFp16, true},
      {kFp8E4m3, kBf16, kBf16, true},
      {kFp32, kBf16, kBf16, false},
      // Low precision: the unit of the activations.
      {kFp8E4m3, kFp8E4m3, kFp8E4m3, false},
      {kInt8, kInt8, kInt8, false},
      {kInt4, kInt8, kInt8, true},
      {kInt4, kFp8E4m3, kFp8E4m3, true},
      // The 8-bit floating-point formats share a unit.
      {kFp8Block, kFp8Block, kFp8E4m3, false},
      {kFp8E5m2, kFp8E5m2, kFp8E4m3, false},
      {kMxfp8, kMxfp8, kFp8E4m3, false},
      {kMxfp4, kMxfp8, kFp8E4m3, true},
      // Wider weights: the activations are widened to them.
      {kBf16, kFp8E4m3, kBf16, false},
      {kFp16, kInt8, kFp16, false},
      // Asked-for activations need their unit even then.
      {kFp8E4m3, kNvfp4, std::nullopt, false},
      // No 4-bit units.
      {kNvfp4, kNvfp4, std::nullopt, false},
      {kMxfp4, kMxfp4, std::nullopt, false},
      {kInt4, kInt4, std::nullopt, false},
  };
  const Device device = Make(ValidSpec());
  for (const ComputeCase& test : kCases) {
    SCOPED_TRACE(std::string(TraitsOf(test.weights).name) + " weights, " +
                 std::string(TraitsOf(test.activations).name) + " activations");
    const std::optional<ComputeFormat> compute =
        device.ComputeFor(test.weights, test.activations);
    ASSERT_EQ(compute.has_value(), test.unit.has_value());
    if (!compute) continue;
    EXPECT_EQ(compute->format, *test.unit);
    EXPECT_EQ(compute->weight_only, test.weight_only);
  }
}

TEST(DeviceTest, AnOwnRateBeatsTheSharedOne) {
  DeviceSpec spec = ValidSpec();
  SetTensor(spec, Format::kMxfp8, 1500);
  EXPECT_EQ(Make(spec).ComputeFor(Format::kMxfp8, Format::kMxfp8)->format,
            Format::kMxfp8);
}

TEST(DeviceTest, NoEightBitUnitNoSharing) {
  DeviceSpec spec = ValidSpec();
  spec.tensor_rates[static_cast<size_t>(Format::kFp8E4m3)].reset();
  const Device device = Make(spec);
  for (Format format : {Format::kFp8E4m3, Format::kFp8E5m2, Format::kFp8Block,
                        Format::kMxfp8}) {
    EXPECT_FALSE(device.ComputeFor(format, format)) << TraitsOf(format).name;
  }
}

// 132 x 4096 x 1.83e9 = 989.4e12.
TEST(DeviceTest, LintFindsRatesThatAreNoPowerOfTwoPerClock) {
  EXPECT_THAT(Make(ValidSpec()).Lint(), IsEmpty());

  DeviceSpec rounded = ValidSpec();  // 1.9 % off.
  SetTensor(rounded, Format::kBf16, 970.6);
  EXPECT_THAT(Make(rounded).Lint(), IsEmpty());

  DeviceSpec off = ValidSpec();  // 2.1 % off.
  SetTensor(off, Format::kBf16, 968.6);
  EXPECT_THAT(Make(off).Lint(), ElementsAre(HasSubstr("is 4010 operations")));

  DeviceSpec explained = off;
  explained.peak_rate_note = "capped by regulation";
  EXPECT_THAT(Make(explained).Lint(), IsEmpty());

  DeviceSpec unclocked = off;
  unclocked.clock_hertz.reset();
  EXPECT_THAT(Make(unclocked).Lint(), IsEmpty());
}

}  // namespace
}  // namespace mansard::model
