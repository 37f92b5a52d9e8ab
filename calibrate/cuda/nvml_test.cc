#include "calibrate/cuda/nvml.h"

#include <cstring>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mansard::calibrate {
namespace {

using ::testing::HasSubstr;

// A library that says what these are.
struct FakeState {
  unsigned long long limits = 0;
  int start = 0;
};
FakeState& State() {
  static FakeState& state = *new FakeState;
  return state;
}

int Start() { return State().start; }
const char* ErrorText(int) { return "Driver Not Loaded"; }
int DriverVersion(char* text, unsigned bytes) {
  std::strncpy(text, "580.65.06", bytes);
  return 0;
}
int HandleOf(const char* address, void** device) {
  *device = const_cast<char*>("device");
  return std::strcmp(address, "0000:1B:00.0") == 0 ? 0 : 6;
}
int Clock(void*, int kind, unsigned* megahertz) {
  *megahertz = kind == 1 ? 1755 : 2619;
  return 0;
}
int Power(void*, unsigned* milliwatts) {
  *milliwatts = 512'400;
  return 0;
}
int PowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int Temperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return 0;
}
int Limits(void*, unsigned long long* limits) {
  *limits = State().limits;
  return 0;
}
int Processes(void*, unsigned* count, void*) {
  *count = 2;
  return 7;  // There is room for none.
}
int Mode(void*, unsigned* now, unsigned* later) {
  *now = 1;
  *later = 0;
  return 0;
}
int NotSupported(void*, unsigned*, unsigned*) { return 3; }

std::map<std::string, void*> Symbols() {
  return {
      {"nvmlInit_v2", reinterpret_cast<void*>(&Start)},
      {"nvmlErrorString", reinterpret_cast<void*>(&ErrorText)},
      {"nvmlSystemGetDriverVersion", reinterpret_cast<void*>(&DriverVersion)},
      {"nvmlDeviceGetHandleByPciBusId_v2", reinterpret_cast<void*>(&HandleOf)},
      {"nvmlDeviceGetClockInfo", reinterpret_cast<void*>(&Clock)},
      {"nvmlDeviceGetPowerUsage", reinterpret_cast<void*>(&Power)},
      {"nvmlDeviceGetEnforcedPowerLimit", reinterpret_cast<void*>(&PowerLimit)},
      {"nvmlDeviceGetTemperature", reinterpret_cast<void*>(&Temperature)},
      // The name before release 535.
      {"nvmlDeviceGetCurrentClocksThrottleReasons",
       reinterpret_cast<void*>(&Limits)},
      {"nvmlDeviceGetComputeRunningProcesses_v3",
       reinterpret_cast<void*>(&Processes)},
      {"nvmlDeviceGetEccMode", reinterpret_cast<void*>(&Mode)},
      {"nvmlDeviceGetMigMode", reinterpret_cast<void*>(&NotSupported)},
  };
}

SharedLibrary Library(const std::map<std::string, void*>& symbols) {
  return {"libfake.so", [symbols](const char* name) {
            const auto found = symbols.find(name);
            return found == symbols.end() ? nullptr : found->second;
          }};
}

class NvmlTest : public ::testing::Test {
 protected:
  void SetUp() override { State() = {}; }
};

TEST_F(NvmlTest, ReadsWhatTheDeviceSays) {
  const auto nvml = OpenNvml(Library(Symbols()), "0000:1B:00.0");
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  EXPECT_EQ(nvml->driver, "580.65.06");
  State().limits = 0x4 | 0x1;
  const GpuState state = nvml->read();
  EXPECT_EQ(StateText(state),
            "1755 MHz, memory 2619 MHz, 512 of 700 W, 61 C, limited by power "
            "cap");
  EXPECT_EQ(state.processes, 2);
  EXPECT_EQ(state.ecc, true);
  EXPECT_EQ(state.mig, std::nullopt);
  EXPECT_EQ(state.persistence, std::nullopt);
  EXPECT_EQ(state.utilization_percent, std::nullopt);
  // A power cap is the device's own way.
  EXPECT_EQ(DisturbanceOf(state), "");
  EXPECT_EQ(ContentionOf(state), "2 processes compute on it");
}

TEST_F(NvmlTest, SaysWhatIsWrong) {
  auto symbols = Symbols();
  symbols.erase("nvmlDeviceGetClockInfo");
  EXPECT_EQ(OpenNvml(Library(symbols), "").status().message(),
            "libfake.so has no function nvmlDeviceGetClockInfo");
  State().start = 9;
  const auto failed = OpenNvml(Library(Symbols()), "0000:1B:00.0").status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(failed.message(), "nvmlInit: Driver Not Loaded");
  State().start = 0;
  EXPECT_THAT(
      std::string(OpenNvml(Library(Symbols()), "elsewhere").status().message()),
      HasSubstr("nvmlDeviceGetHandleByPciBusId: "));
}

TEST(ClockLimits, HardwareAndHeatDisturb) {
  const struct {
    uint64_t bits;
    const char* names;
    const char* disturbance;
  } kCases[] = {
      {0, "", ""},
      {0x1 | 0x2 | 0x100, "", ""},  // Idle, and what somebody has set.
      {0x4, "power cap", ""},
      {0x4 | 0x40, "power cap, thermal slowdown (hardware)",
       "thermal slowdown (hardware)"},
      {0x8 | 0x80, "hardware slowdown, power brake (hardware)",
       "hardware slowdown, power brake (hardware)"},
      {0x20, "thermal slowdown (software)", "thermal slowdown (software)"},
      {0x800 | 0x10, "sync boost, 0x800", ""},
  };
  for (const auto& one : kCases) {
    EXPECT_EQ(LimitNames(one.bits), one.names);
    GpuState state;
    state.clock_limits = one.bits;
    EXPECT_EQ(DisturbanceOf(state), one.disturbance);
  }
  EXPECT_EQ(DisturbanceOf({}), "");
  EXPECT_EQ(StateText({}), "");
}

}  // namespace
}  // namespace mansard::calibrate
