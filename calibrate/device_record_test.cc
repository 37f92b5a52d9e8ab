#include "calibrate/device_record.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "mansard/v1/catalog.pb.h"

namespace mansard::calibrate {
namespace {

constexpr char kDate[] = "2026-08-22";

// A made-up device; the peak follows by hand: 2.5e9 x 2 x 4096 / 8 = 2.56e12.
DeviceRecord FakeDevice() {
  return {.name = "Fake \"F1\"",
          .compute_capability_major = 9,
          .compute_capability_minor = 0,
          .multiprocessor_count = 100,
          .clock_hertz = 1.8e9,
          .smem_bytes_per_multiprocessor = 200000,
          .l2_bytes = 40000000,
          .memory_bytes = 80000000000,
          .memory_clock_hertz = 2.5e9,
          .memory_bus_bits = 4096,
          .cuda_version = 13010,
          .read_bandwidth = std::nullopt};
}

v1::Device Parse(const std::string& text) {
  v1::Device device;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &device))
      << text;
  return device;
}

TEST(DeviceRecordTest, IsADeviceWithSourcedNumbers) {
  const v1::Device device = Parse(ToTextproto(FakeDevice(), kDate));
  EXPECT_EQ(device.vendor(), "NVIDIA");
  EXPECT_EQ(device.architecture(), "hopper");
  EXPECT_EQ(device.multiprocessor_count().value(), 100);
  EXPECT_EQ(device.multiprocessor_count().provenance().kind(),
            v1::Provenance::KIND_MEASURED);
  EXPECT_EQ(device.multiprocessor_count().provenance().observe_date(), kDate);
  EXPECT_EQ(device.clock_hertz().value(), 1.8e9);
  EXPECT_EQ(device.peak_rates_size(), 0);

  ASSERT_EQ(device.memory_levels_size(), 3);
  const v1::MemoryLevel& smem = device.memory_levels(0);
  EXPECT_EQ(smem.level(), "smem");
  EXPECT_EQ(smem.capacity_bytes().value(), 2e7);
  EXPECT_EQ(smem.capacity_bytes().provenance().kind(),
            v1::Provenance::KIND_DERIVED);
  EXPECT_EQ(device.memory_levels(1).level(), "l2");
  EXPECT_EQ(device.memory_levels(1).capacity_bytes().value(), 4e7);
  const v1::MemoryLevel& hbm = device.memory_levels(2);
  EXPECT_EQ(hbm.level(), "hbm");
  EXPECT_EQ(hbm.capacity_bytes().value(), 8e10);
  EXPECT_EQ(hbm.bandwidth_bytes_per_second().value(), 2.56e12);
  EXPECT_EQ(hbm.bandwidth_bytes_per_second().provenance().kind(),
            v1::Provenance::KIND_DERIVED);
}

TEST(DeviceRecordTest, TextIsReadable) {
  DeviceRecord record = FakeDevice();
  record.read_bandwidth = {.median_bytes_per_second = 2.304e12,
                           .relative_spread = 0.005,
                           .repeat_count = 21,
                           .buffer_bytes = 4294967296};
  const std::string text = ToTextproto(record, kDate);
  EXPECT_EQ(text.substr(0, text.find("clock_hertz")),
            R"(# Fake \"F1\", compute capability 9.0, CUDA 13.1
# Measured read stream: 2.304e+12 bytes/s, median of 21 passes over 4294967296 bytes, +-0.5 %
# = 90.0 % of the peak.
vendor: "NVIDIA"
architecture: "hopper"
multiprocessor_count {
  value: 100
  provenance {
    kind: KIND_MEASURED
    source: "CUDA runtime on the device"
    observe_date: "2026-08-22"
  }
}
)");
  // The measurement is a comment: it changes no field.
  EXPECT_EQ(Parse(text).SerializeAsString(),
            Parse(ToTextproto(FakeDevice(), kDate)).SerializeAsString());
}

TEST(DeviceRecordTest, LeavesOutABandwidthThatTheDriverDoesNotTell) {
  DeviceRecord record = FakeDevice();
  record.memory_bus_bits = 0;
  record.compute_capability_major = 7;
  record.compute_capability_minor = 5;
  const v1::Device device = Parse(ToTextproto(record, kDate));
  EXPECT_FALSE(device.memory_levels(2).has_bandwidth_bytes_per_second());
  EXPECT_EQ(device.architecture(), "sm_75");
}

}  // namespace
}  // namespace mansard::calibrate
